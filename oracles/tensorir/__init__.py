"""The meaning of PrimFuncs, computed in NumPy without a compiler."""

from __future__ import annotations

from .program import STEPS, Program, translate

__all__ = ["STEPS", "Program", "translate"]
