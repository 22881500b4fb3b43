"""Reductions of whole bodies of PrimFuncs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import s_tir, tirx

from . import kernels_tree as tree
from .halving import long_runs, runs
from .kernels import HAS_BLOCKS, kernels, rebuilt, with_kernels
from .reduction import Edit

PARTS = 4
"""Of the PrimFuncs; each is tried early. Smaller ones wait until other things are gone."""


def most_bodies_trivial(mod: tvm.IRModule) -> Iterator[Edit]:
    """All bodies do nothing, do it in a block, or write zeros; or a part of them does nothing."""
    ranks = _ranks(mod)
    yield from _trivial(mod, list(ranks), ranks)
    large = [name for name, rank in ranks.items() if rank]
    for run in long_runs(large, PARTS):
        if len(run) < len(large):
            yield partial(_with_bodies, mod, run, _nothing)


def trivial_bodies(mod: tvm.IRModule) -> Iterator[Edit]:
    """Fewer and fewer bodies do nothing, do it in a block, or only write zeros."""
    ranks = _ranks(mod)
    for run in runs([name for name, rank in ranks.items() if rank]):
        yield from _trivial(mod, run, ranks)


def _trivial(mod: tvm.IRModule, names: Sequence[str], ranks: Mapping[str, int]) -> Iterator[Edit]:
    """Each of the bodies that exist is larger than those before: only larger ones are replaced."""
    old = kernels(mod)
    for rank, body in enumerate(_BODIES):
        larger = [
            name
            for name in names
            if ranks[name] > rank and (body is _nothing or may_have_blocks(old[name]))
        ]
        if larger:
            yield partial(_with_bodies, mod, larger, body)


def _with_bodies(
    mod: tvm.IRModule, names: Sequence[str], body: Callable[[tirx.PrimFunc], Any]
) -> tvm.IRModule:
    old = kernels(mod)
    return with_kernels(mod, {name: rebuilt(old[name], body(old[name])) for name in names})


def _nothing(func: tirx.PrimFunc) -> Any:
    if isinstance(func.ret_type, tvm.ir.PrimType) and str(func.ret_type.dtype) != "void":
        return tirx.stmt.Return(tirx.const(0, func.ret_type.dtype))
    return tree.nothing()


def _in_a_block(body: Any) -> Any:
    """The block that all others are in."""
    return s_tir.SBlockRealize([], True, s_tir.SBlock([], [], [], "root", body))


def _nothing_in_a_block(func: tirx.PrimFunc) -> Any:
    return _in_a_block(_nothing(func))


def _zeros(func: tirx.PrimFunc) -> Any:
    written = outputs(func)
    returned = _nothing(func)
    stores = [_filled(buffer) for buffer in written]
    if isinstance(returned, tirx.stmt.Return):
        stores.append(returned)
    return _in_a_block(tree.sequence(stores) or returned)


def _filled(buffer: Any) -> Any:
    """Loops around a block that writes one zero."""
    ints = [dim.ty.dtype for dim in buffer.ty.shape]
    loops = [tirx.Var(f"i{i}", dtype) for i, dtype in enumerate(ints)]
    axes = [tirx.Var(f"v{i}", dtype) for i, dtype in enumerate(ints)]
    store = tirx.BufferStore(buffer, tirx.const(0, buffer.ty.dtype.dtype), axes)
    ones = [tvm.ir.Range.from_min_extent(axis, tirx.const(1, axis.ty.dtype)) for axis in axes]
    block = s_tir.SBlock(
        [
            tirx.IterVar(tvm.ir.Range(tirx.const(0, var.ty.dtype), dim), var, tirx.IterVar.DataPar)
            for var, dim in zip(axes, buffer.ty.shape, strict=True)
        ],
        [],
        [tirx.BufferRegion(buffer, ones)],
        "zeros",
        store,
    )
    stmt = s_tir.SBlockRealize(loops, True, block)
    for var, dim in reversed(list(zip(loops, buffer.ty.shape, strict=True))):
        stmt = tirx.For(var, tirx.const(0, var.ty.dtype), dim, tirx.ForKind.SERIAL, stmt)
    return stmt


def outputs(func: tirx.PrimFunc) -> list[Any]:
    """The parameters that it writes to; the last buffer where no statement tells."""
    stored = {
        hash(place.node.buffer)
        for place in tree.places(func.body)
        if isinstance(place.node, tirx.BufferStore)
    }
    buffers = [param for param in func.params if isinstance(param.ty, tirx.BufferType)]
    return [param for param in buffers if hash(param) in stored] or buffers[-1:]


def may_have_blocks(func: tirx.PrimFunc) -> bool:
    """Blocks are not lowered yet."""
    return HAS_BLOCKS in (func.attrs or {})


_BODIES = (_nothing, _nothing_in_a_block, _zeros)


def _ranks(mod: tvm.IRModule) -> dict[str, int]:
    return {name: _rank(func) for name, func in kernels(mod).items()}


def _rank(func: tirx.PrimFunc) -> int:
    body = func.body
    if tree.is_nothing(body) or isinstance(body, tirx.stmt.Return):
        return 0
    if isinstance(body, s_tir.SBlockRealize) and tree.is_nothing(body.block.body):
        return 1
    nodes = [place.node for place in tree.places(body)]
    writes = [node for node in nodes if isinstance(node, tirx.BufferStore)]
    blocks = [node for node in nodes if isinstance(node, s_tir.SBlock)]
    zeros = all(isinstance(node.value, tirx.IntImm | tirx.FloatImm) for node in writes)
    plain = not any(isinstance(node, tvm.ir.Call) for node in nodes)
    return 2 if plain and zeros and len(blocks) <= len(writes) + 1 <= len(func.params) + 1 else 3
