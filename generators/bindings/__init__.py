"""Kinds of bindings: operators of the table, calls, branches, tuples, aliases, TensorIR."""

from __future__ import annotations

from .composites import BACKENDS
from .kernels import call_tir
from .kind import BindingKind, Callee
from .table import KINDS, kinds

__all__ = ["BACKENDS", "KINDS", "BindingKind", "Callee", "call_tir", "kinds"]
