"""Reductions of the buffers of PrimFuncs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx

from ...generators.rewrite.nodes import references
from . import kernels_tree as tree
from .halving import runs
from .kernels import kernels, rebuilt, with_kernels
from .reduction import Edit


def drop_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without buffers of its own that a PrimFunc works with, and what it does to them."""
    own = [(name, buffer) for name, func in kernels(mod).items() for buffer in allocated(func)]
    for run in runs(own):
        yield partial(_without_buffers, mod, run)


def plain_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Buffers without strides, offsets and alignments, and then in global memory."""
    buffers = [(name, buffer) for name, func in kernels(mod).items() for buffer in _buffers(func)]
    for scope in (None, "global"):
        peculiar = [(n, b) for n, b in buffers if not _same(b.ty, _plain(b, scope).ty)]
        for run in runs(peculiar):
            yield partial(_with_plain, mod, run, scope)


def shrink_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Buffers of one element where nobody outside knows of them."""
    called = set[str]().union(*(references(func) for _, func in mod.functions_items()))
    inner = [
        (name, buffer)
        for name, func in kernels(mod).items()
        for buffer in (allocated(func) if name in called else _buffers(func))
        if any(not _is_one(dim) for dim in buffer.ty.shape)
    ]
    for run in runs(inner):
        yield partial(_with_single, mod, run)


def allocated(func: tirx.PrimFunc) -> list[Any]:
    """The buffers that are declared in the body, in order."""
    found: list[Any] = []
    for place in tree.places(func.body):
        if isinstance(place.node, tirx.AllocBuffer | tirx.DeclBuffer):
            found.append(place.node.buffer)
        elif isinstance(place.node, s_tir.SBlock):
            found += list(place.node.alloc_buffers)
            found += [match.buffer for match in place.node.match_buffers]
    return found


def without_buffers(func: tirx.PrimFunc, gone: set[int]) -> Any:
    """The body without what is done to these buffers, by hash; zeros where they are read."""
    changes: dict[int, tree.Change] = {}
    for place in tree.places(func.body):
        node = place.node
        if isinstance(node, tirx.BufferStore | tirx.AllocBuffer | tirx.DeclBuffer):
            if hash(node.buffer) in gone:
                changes[place.number] = _dropped
        elif isinstance(node, tvm.ir.TensorLoad) and hash(node.source) in gone:
            changes[place.number] = _zero
        elif isinstance(node, s_tir.SBlock):
            changes[place.number] = partial(_block_without, gone=gone)
        elif isinstance(node, tirx.Evaluate) and tree.variables(node.value) & gone:
            changes[place.number] = _dropped
    return tree.changed(func.body, changes)


def _dropped(node: Any) -> None:
    return None


def _zero(load: Any) -> Any:
    return tirx.const(0, tree.dtype(load))


def _block_without(block: Any, gone: set[int]) -> Any:
    fields = {
        "reads": [r for r in block.reads if not tree.variables(r) & gone],
        "writes": [r for r in block.writes if not tree.variables(r) & gone],
        "alloc_buffers": [b for b in block.alloc_buffers if hash(b) not in gone],
        "match_buffers": [m for m in block.match_buffers if hash(m.buffer) not in gone],
    }
    same = all(len(fields[name]) == len(getattr(block, name)) for name in fields)
    return block if same else tree.with_block(block, **fields)


def _without_buffers(mod: tvm.IRModule, run: Sequence[tuple[str, Any]]) -> tvm.IRModule:
    gone: dict[str, set[int]] = {}
    for name, buffer in run:
        gone.setdefault(name, set()).add(hash(buffer))
    old = kernels(mod)
    return with_kernels(
        mod,
        {
            name: rebuilt(old[name], without_buffers(old[name], hashes))
            for name, hashes in gone.items()
        },
    )


# Buffers of other types


def _buffers(func: tirx.PrimFunc) -> list[Any]:
    params = [param for param in func.params if isinstance(param.ty, tirx.BufferType)]
    return [*params, *allocated(func)]


def _plain(buffer: Any, scope: str | None, shape: Sequence[Any] | None = None) -> Any:
    """A buffer of that name that is laid out in the ordinary way."""
    ty = buffer.ty
    return tirx.decl_buffer(
        list(ty.shape) if shape is None else list(shape),
        ty.dtype.dtype,
        str(buffer.name),
        scope=str(ty.storage_scope) if scope is None else scope,
        layout=None if ty.layout is None else "default",
    )


def _is_one(dim: Any) -> bool:
    return isinstance(dim, tirx.IntImm) and int(dim.value) == 1


def _with_plain(
    mod: tvm.IRModule, run: Sequence[tuple[str, Any]], scope: str | None
) -> tvm.IRModule:
    return _with_buffers(mod, [(name, buffer, _plain(buffer, scope)) for name, buffer in run])


def _with_single(mod: tvm.IRModule, run: Sequence[tuple[str, Any]]) -> tvm.IRModule:
    return _with_buffers(
        mod,
        [
            (name, b, _plain(b, None, [tirx.const(1, tree.dtype(d)) for d in b.ty.shape]))
            for name, b in run
        ],
    )


def _with_buffers(mod: tvm.IRModule, new: Sequence[tuple[str, Any, Any]]) -> tvm.IRModule:
    by_name: dict[str, dict[int, Any]] = {}
    for name, old, buffer in new:
        by_name.setdefault(name, {})[hash(old)] = buffer
    old_kernels = kernels(mod)
    return with_kernels(
        mod,
        {name: with_variables(old_kernels[name], mapping) for name, mapping in by_name.items()},
    )


def with_variables(func: tirx.PrimFunc, mapping: dict[int, Any]) -> tirx.PrimFunc:
    """The PrimFunc with other variables or values for its variables, by hash."""
    new = tree.substituted(func, mapping)
    # Built by its constructor, which says what its type is.
    return rebuilt(func, new.body, list(new.params))


def _same(a: Any, b: Any) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))
