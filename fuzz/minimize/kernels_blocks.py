"""Reductions over loops and blocks of PrimFuncs, and over the variables of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from . import kernels_tree as tree
from .kernels import changed_in_runs, places, with_changes
from .reduction import Edit, grouped, runs


def plain_kernels(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop annotations, predicates, initial values, reductions, and regions without an access."""
    found = places(mod)
    for kind, peculiar, change in _PLAINER:
        inside = [(n, p) for n, p in found if isinstance(p.node, kind) and peculiar(p.node)]
        yield from changed_in_runs(mod, inside, change)


def shrink_extents(mod: tvm.IRModule) -> Iterator[Edit]:
    """Make loops run once or twice, and shrink the domains of the blocks inside."""
    loops = [(name, place) for name, place in places(mod) if isinstance(place.node, ir.For)]
    for extent in (1, 2):
        longer = [(name, p) for name, p in loops if _length(p.node) > extent]
        yield from changed_in_runs(mod, longer, partial(_running, extent=extent))


def _length(loop: Any) -> float:
    return int(loop.extent.value) if isinstance(loop.extent, tirx.IntImm) else float("inf")


def _running(loop: Any, extent: int) -> Any:
    """Set the extent of the loop, and of block variables that represent its counter."""
    new = tirx.const(extent, tree.dtype(loop.extent) or "int32")
    changes = {
        place.number: partial(_bounded, counter=loop.loop_var, extent=new)
        for place in tree.places(loop.body)
        if isinstance(place.node, ir.SBlockRealize)
        and any(value.same_as(loop.loop_var) for value in place.node.iter_values)
    }
    body = tree.changed(loop.body, changes) if changes else loop.body
    return tree.with_loop(loop, extent=new, body=body)


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


def _with_block(realize: Any, **fields: Any) -> Any:
    return ir.SBlockRealize(
        realize.iter_values, realize.predicate, tree.with_block(realize.block, **fields)
    )


# Plainer loops and blocks


def _is_peculiar_loop(loop: Any) -> bool:
    return (
        bool(len(loop.annotations))
        or int(loop.kind) != int(ir.ForKind.SERIAL)
        or loop.step is not None
    )


def _plain_loop(loop: Any) -> Any:
    return ir.For(loop.loop_var, loop.min, loop.extent, ir.ForKind.SERIAL, loop.body)


def _is_bounded(realize: Any) -> bool:
    predicate = realize.predicate
    return not (isinstance(predicate, tirx.IntImm) and int(predicate.value) == 1)


def _unbounded(realize: Any) -> Any:
    return ir.SBlockRealize(realize.iter_values, True, realize.block)


def _reduces(realize: Any) -> bool:
    return any(axis.iter_type != tirx.IterVar.DataPar for axis in realize.block.iter_vars)


def _spatial(realize: Any) -> Any:
    axes = [_axis(axis, kind=tirx.IterVar.DataPar) for axis in realize.block.iter_vars]
    return _with_block(realize, iter_vars=axes)


def _without_field(name: str, empty: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A test for a non-empty field of a block, and a function that empties the field."""

    def present(realize: Any) -> bool:
        value = getattr(realize.block, name)
        return value is not None if empty is None else bool(len(value))

    return present, lambda realize: _with_block(realize, **{name: empty})


def _without_regions(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A test for regions in a field that the block does not access, and a function that drops them.

    Accessed regions must stay, since passes rely on them.
    """

    def accessed(realize: Any) -> list[Any]:
        block = realize.block
        used = {var for part in (block.init, block.body) if part for var in tree.variables(part)}
        regions = getattr(block, name)
        return [each for each in regions if tree.variables(ir.tensor_of(each)) & used]

    return (
        lambda realize: len(accessed(realize)) < len(getattr(realize.block, name)),
        lambda realize: _with_block(realize, **{name: accessed(realize)}),
    )


_PLAINER: list[tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = [
    (ir.For, _is_peculiar_loop, _plain_loop),
    (ir.SBlockRealize, *_without_field("annotations", {})),
    (ir.SBlockRealize, _is_bounded, _unbounded),
    (ir.SBlockRealize, *_without_field("init", None)),
    (ir.SBlockRealize, _reduces, _spatial),
    (ir.SBlockRealize, *_without_regions("reads")),
    (ir.SBlockRealize, *_without_regions("writes")),
]
"""For each kind of node, tests for a peculiarity, and functions that remove it."""


Axes = Sequence[tuple[str, int, int]]
"""Variables of blocks: the PrimFunc, the number of the block's place in it, their own number."""


def drop_axes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop variables of blocks that are unused or numbers; then make domains plain.

    Loop variables cannot be used inside a block, so block variables that represent them stay.
    """
    blocks = [(name, p) for name, p in places(mod) if isinstance(p.node, ir.SBlockRealize)]
    free = [
        (name, place.number, at)
        for name, place in blocks
        for at, value in enumerate(place.node.iter_values)
        if isinstance(value, tirx.IntImm) or _is_unused(place.node.block, at)
    ]
    for run in runs(free):
        yield partial(_changed, mod, run, _without)
    large = [
        (name, place.number, at)
        for name, place in blocks
        for at, axis in enumerate(place.node.block.iter_vars)
        if not _is_plain(axis)
    ]
    for run in runs(large):
        yield partial(_changed, mod, run, _plain)


def _changed(mod: tvm.IRModule, axes: Axes, change: Callable[..., Any]) -> tvm.IRModule:
    by_block = grouped(((name, number), at) for name, number, at in axes)
    return with_changes(
        mod, [(*place, partial(change, numbers=numbers)) for place, numbers in by_block.items()]
    )


def _is_unused(block: Any, at: int) -> bool:
    others = block.iter_vars[:at], block.iter_vars[at + 1 :]
    used = [block.body, block.init, block.reads, block.writes, *others]
    var = hash(block.iter_vars[at].var)
    return not any(part is not None and var in tree.variables(part) for part in used)


def _without(realize: Any, numbers: set[int]) -> Any:
    axes, values = list(realize.block.iter_vars), list(realize.iter_values)
    mapping = {hash(axes[at].var): values[at] for at in numbers}
    block = tree.with_block(
        realize.block, iter_vars=[axis for at, axis in enumerate(axes) if at not in numbers]
    )
    return ir.SBlockRealize(
        [value for at, value in enumerate(values) if at not in numbers],
        realize.predicate,
        tree.substituted(block, mapping),
    )


def _plain(realize: Any, numbers: set[int]) -> Any:
    axes = [
        tirx.IterVar(_unit(axis), axis.var, axis.iter_type) if at in numbers else axis
        for at, axis in enumerate(realize.block.iter_vars)
    ]
    block = tree.with_block(realize.block, iter_vars=axes)
    return ir.SBlockRealize(realize.iter_values, realize.predicate, block)


def _unit(axis: Any) -> Any:
    dtype = tree.dtype(axis.var)
    return tvm.ir.Range.from_min_extent(tirx.const(0, dtype), tirx.const(1, dtype))


def _is_plain(axis: Any) -> bool:
    low, extent = axis.dom.min, axis.dom.extent
    return isinstance(extent, tirx.IntImm) and isinstance(low, tirx.IntImm) and int(low.value) == 0
