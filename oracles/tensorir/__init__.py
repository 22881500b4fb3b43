"""The meaning of PrimFuncs, computed in NumPy without a compiler."""

from __future__ import annotations

from .program import STEPS, Program, translate
from .sanitizer import SMALL, sanitize
from .sanitizer_runtime import Fault

__all__ = ["SMALL", "STEPS", "Fault", "Program", "sanitize", "translate"]
