"""A real module, unchanged except for its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax

from ...compat import ir
from ...compat.serialization import load_json, save_json
from ..rewrite.nodes import references, with_functions
from .record import record
from .weights import is_weight, without_weights

LARGEST = 8_000_000
"""The most characters of the text: a model of a hundred layers without its weights."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A real module with parameters for its weights."""

    name: str
    """Its origin: "model.onnx"."""
    text: str
    """Its TVM JSON."""
    digest: str
    """Equal for structurally equal modules."""

    def __repr__(self) -> str:
        return f"Whole({self.name!r})"

    def load(self) -> tvm.IRModule:
        """A new copy of the module, since a pass may change nodes in place."""
        record(self.name, ())
        return load_json(self.text)


def whole_of(mod: tvm.IRModule, name: str) -> Whole | None:
    """The module with parameters for its weights; None if it would still have some, or is too
    large.

    Functions that others call keep their weights, which no caller could provide.
    """
    plain = {
        gvar: _without_tensors(func) if isinstance(func, relax.Function) else func
        for gvar, func in mod.functions_items()
    }
    called = {name for func in plain.values() for name in references(func)}
    for gvar, func in plain.items():
        if isinstance(func, relax.Function) and str(gvar.name_hint) not in called:
            plain[gvar] = without_weights(func)
    if any(map(_has_weights, plain.values())):
        return None
    made = with_functions(mod, plain)
    text = save_json(made)
    if len(text) > LARGEST:
        return None
    digest = int(tvm_ffi.structural_hash(made, map_free_vars=True))
    return Whole(name, text, f"{digest:016x}")


def _without_tensors(func: relax.Function) -> relax.Function:
    """The function without attributes with tensors, where importers put values of parameters."""
    for name, value in dict(func.attrs or {}).items():
        several = isinstance(value, Sequence) and not isinstance(value, str)
        if any(isinstance(each, tvm.runtime.Tensor) for each in (value if several else [value])):
            func = func.without_attr(name)
    return func


def _has_weights(func: tvm.ir.BaseFunc) -> bool:
    found: list[object] = []
    if isinstance(func, relax.Function):
        tvm_ffi.structural_walk(func, (ir.GenericConst, found.append))
    return any(map(is_weight, found))
