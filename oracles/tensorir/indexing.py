"""Buffers of a PrimFunc whose elements are indices into others."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from ...compat import ir
from ..inspect import nodes


def indexing_params(func: tirx.PrimFunc) -> list[int]:
    """The positions of the parameters that indices depend on, directly or via other buffers."""
    accesses = nodes(func, ir.TensorLoad, ir.BufferStore)
    todo = [used for access in accesses for index in access.indices for used in _used(index)]
    stored: dict[int, list[Any]] = {}
    for access in accesses:
        if isinstance(access, ir.BufferStore):
            stored.setdefault(hash(access.buffer), []).append(access.value)
    for bind in nodes(func, ir.Bind, ir.Let):
        stored.setdefault(hash(bind.var), []).append(bind.value)
    found: set[int] = set()
    while todo:
        one = hash(todo.pop())
        if one not in found:
            found.add(one)
            todo += [used for value in stored.get(one, ()) for used in _used(value)]
    return [place for place, param in enumerate(func.params) if hash(param) in found]


def _used(expr: Any) -> list[Any]:
    """The buffers that an expression loads from, and its variables."""
    loads = nodes(expr, ir.TensorLoad)
    return [*(ir.tensor_of(load) for load in loads), *nodes(expr, tirx.Var)]
