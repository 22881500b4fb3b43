"""Reductions of the variables of blocks in PrimFuncs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import s_tir, tirx

from . import kernels_tree as tree
from .halving import runs
from .kernels import places, with_changes
from .reduction import Edit

Axes = Sequence[tuple[str, int, int]]
"""Variables of blocks: the PrimFunc, the number of the block's place in it, their own number."""


def drop_axes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without variables of blocks that are unused, or numbers; then with plain domains.

    A loop's variable cannot be used inside of a block: these stay.
    """
    blocks = [(name, p) for name, p in places(mod) if isinstance(p.node, s_tir.SBlockRealize)]
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


def _changed(mod: tvm.IRModule, axes: Axes, change: Callable[[Any, set[int]], Any]) -> tvm.IRModule:
    by_block: dict[tuple[str, int], set[int]] = {}
    for name, number, at in axes:
        by_block.setdefault((name, number), set()).add(at)
    return with_changes(
        mod,
        [(name, number, _at(change, numbers)) for (name, number), numbers in by_block.items()],
    )


def _at(change: Callable[[Any, set[int]], Any], numbers: set[int]) -> tree.Change:
    return lambda realize: change(realize, numbers)


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
    return s_tir.SBlockRealize(
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
    return s_tir.SBlockRealize(realize.iter_values, realize.predicate, block)


def _unit(axis: Any) -> Any:
    dtype = tree.dtype(axis.var)
    return tvm.ir.Range.from_min_extent(tirx.const(0, dtype), tirx.const(1, dtype))


def _is_plain(axis: Any) -> bool:
    """Its domain is a number of elements from 0 on."""
    low, extent = axis.dom.min, axis.dom.extent
    return isinstance(extent, tirx.IntImm) and isinstance(low, tirx.IntImm) and int(low.value) == 0
