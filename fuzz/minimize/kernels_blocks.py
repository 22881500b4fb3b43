"""Reductions of what loops and blocks of PrimFuncs say besides their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tvm
from tvm import s_tir, tirx

from . import kernels_tree as tree
from .halving import runs
from .kernels import Places, places, with_changes
from .reduction import Edit


def plain_kernels(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without annotations, predicates, initial values, reductions and regions."""
    found = places(mod)
    for kind, peculiar, change in _PLAINER:
        inside = [(n, p) for n, p in found if isinstance(p.node, kind) and peculiar(p.node)]
        yield from _halved(mod, inside, change)


def shrink_extents(mod: tvm.IRModule) -> Iterator[Edit]:
    """Loops that run once or twice, with the domains of the blocks inside."""
    loops = [(name, place) for name, place in places(mod) if isinstance(place.node, tirx.For)]
    for extent in (1, 2):
        longer = [(name, p) for name, p in loops if _length(p.node) > extent]
        yield from _halved(mod, longer, partial(_running, extent=extent))


def _halved(mod: tvm.IRModule, found: Places, change: Callable[[Any], Any]) -> Iterator[Edit]:
    for run in runs(found):
        yield partial(with_changes, mod, [(name, place.number, change) for name, place in run])


def _length(loop: Any) -> float:
    return int(loop.extent.value) if isinstance(loop.extent, tirx.IntImm) else float("inf")


def _running(loop: Any, extent: int) -> Any:
    """The loop with that extent; a block variable that stands for its counter follows."""
    new = tirx.const(extent, tree.dtype(loop.extent) or "int32")
    changes = {
        place.number: partial(_bounded, counter=loop.loop_var, extent=new)
        for place in tree.places(loop.body)
        if isinstance(place.node, s_tir.SBlockRealize)
        and any(value.same_as(loop.loop_var) for value in place.node.iter_values)
    }
    body = tree.changed(loop.body, changes) if changes else loop.body
    return _with_loop(loop, extent=new, body=body)


def _bounded(realize: Any, counter: Any, extent: Any) -> Any:
    axes = [
        _axis(axis, extent=extent) if value.same_as(counter) else axis
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    ]
    return _with_block(realize, iter_vars=axes)


def _axis(axis: Any, *, extent: Any = None, kind: int | None = None) -> Any:
    domain = axis.dom if extent is None else tvm.ir.Range.from_min_extent(axis.dom.min, extent)
    kind = axis.iter_type if kind is None else kind
    return tirx.IterVar(domain, axis.var, kind, str(axis.thread_tag))


def _with_loop(loop: Any, **fields: Any) -> Any:
    names = ["loop_var", "min", "extent", "kind", "body", "thread_binding", "annotations", "step"]
    return tirx.For(**{name: fields.get(name, getattr(loop, name)) for name in names})


def _with_block(realize: Any, **fields: Any) -> Any:
    return s_tir.SBlockRealize(
        realize.iter_values, realize.predicate, tree.with_block(realize.block, **fields)
    )


# Plainer loops and blocks


def _is_peculiar_loop(loop: Any) -> bool:
    return (
        bool(len(loop.annotations))
        or int(loop.kind) != int(tirx.ForKind.SERIAL)
        or loop.step is not None
    )


def _plain_loop(loop: Any) -> Any:
    return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)


def _is_bounded(realize: Any) -> bool:
    predicate = realize.predicate
    return not (isinstance(predicate, tirx.IntImm) and int(predicate.value) == 1)


def _unbounded(realize: Any) -> Any:
    return s_tir.SBlockRealize(realize.iter_values, True, realize.block)


def _reduces(realize: Any) -> bool:
    return any(axis.iter_type != tirx.IterVar.DataPar for axis in realize.block.iter_vars)


def _spatial(realize: Any) -> Any:
    axes = [_axis(axis, kind=tirx.IterVar.DataPar) for axis in realize.block.iter_vars]
    return _with_block(realize, iter_vars=axes)


_PLAINER: list[tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = [
    (tirx.For, _is_peculiar_loop, _plain_loop),
    (
        s_tir.SBlockRealize,
        lambda realize: len(realize.block.annotations),
        lambda realize: _with_block(realize, annotations={}),
    ),
    (s_tir.SBlockRealize, _is_bounded, _unbounded),
    (
        s_tir.SBlockRealize,
        lambda realize: realize.block.init is not None,
        lambda realize: _with_block(realize, init=None),
    ),
    (s_tir.SBlockRealize, _reduces, _spatial),
    (
        s_tir.SBlockRealize,
        lambda realize: len(realize.block.reads),
        lambda realize: _with_block(realize, reads=[]),
    ),
    (
        s_tir.SBlockRealize,
        lambda realize: len(realize.block.writes),
        lambda realize: _with_block(realize, writes=[]),
    ),
]
"""What is peculiar of which kind of node, and the node without."""
