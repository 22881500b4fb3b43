"""What a binding may be: operators of the table, calls, branches, tuples, aliases, TensorIR."""

from __future__ import annotations

from .composites import BACKENDS
from .kernels import call_tir
from .kind import Callee, Kind
from .table import KINDS, kinds

__all__ = ["BACKENDS", "KINDS", "Callee", "Kind", "call_tir", "kinds"]
