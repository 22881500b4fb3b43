"""Reductions of expressions in PrimFuncs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import s_tir, tirx

from . import kernels_tree as tree
from .halving import runs
from .kernels import Places, places, with_changes
from .reduction import Edit

LITERALS = (tirx.IntImm, tirx.FloatImm, tvm.ir.StringImm)


def zero_values(mod: tvm.IRModule) -> Iterator[Edit]:
    """Zeros for stored values, then for indices: long runs first."""
    stores = [(name, p) for name, p in places(mod) if isinstance(p.parent, tirx.BufferStore)]
    values = [(name, p) for name, p in stores if p.node.same_as(p.parent.value)]
    yield from _zeros(mod, values)
    yield from _zeros(mod, [item for item in stores if item not in values])


def simplify_expressions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Literals or operands for expressions, from outside to inside."""
    found = [
        (name, place)
        for name, place in places(mod)
        if tree.is_expression(place.node) and not _bounds(place)
    ]
    for name, place in found:
        dtype = tree.dtype(place.node)
        if dtype is None:
            continue
        for literal in _literals(place.node, dtype):
            yield partial(with_changes, mod, [(name, place.number, _constant(literal))])
        for operand in sorted(_like(place.node, dtype), key=_is_composite):
            yield partial(with_changes, mod, [(name, place.number, _constant(operand))])


def _zeros(mod: tvm.IRModule, found: Places) -> Iterator[Edit]:
    wanted = [
        (name, p)
        for name, p in found
        if not isinstance(p.node, LITERALS) and tree.dtype(p.node) is not None
    ]
    for run in runs(wanted):
        yield partial(
            with_changes,
            mod,
            [
                (name, place.number, _constant(tirx.const(0, tree.dtype(place.node))))
                for name, place in run
            ],
        )


def _like(expr: Any, dtype: str, depth: int = 5) -> Iterator[Any]:
    """The nearest expressions inside that can stand for it."""
    for operand in tree.operands(expr):
        if tree.dtype(operand) == dtype:
            yield operand
        elif depth:
            yield from _like(operand, dtype, depth - 1)


def _is_composite(expr: Any) -> bool:
    return any(True for _ in tree.operands(expr))


def _constant(expr: Any) -> tree.Change:
    return lambda node: expr


def _bounds(place: tree.Place) -> bool:
    """It says how often something is done, not what."""
    return isinstance(place.parent, tirx.For | s_tir.SBlockRealize) and not (
        isinstance(place.parent, s_tir.SBlockRealize) and place.node.same_as(place.parent.predicate)
    )


def _literals(node: Any, dtype: str) -> list[Any]:
    """What may stand for it; a condition can be either."""
    if isinstance(node, LITERALS):
        return []
    if dtype == "bool":
        return [tirx.const(True, "bool"), tirx.const(False, "bool")]
    return [tirx.const(0, dtype)]
