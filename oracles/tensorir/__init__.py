"""The meaning of PrimFuncs, computed in NumPy without a compiler."""

from __future__ import annotations

from .program import STEPS, Program, translate
from .sanitizer.run import SMALL, sanitize
from .sanitizer.runtime import Fault
from .threads.linked import has_callees, kernels_of, linked

__all__ = [
    "SMALL",
    "STEPS",
    "Fault",
    "Program",
    "has_callees",
    "kernels_of",
    "linked",
    "sanitize",
    "translate",
]
