"""Reductions of statements of PrimFuncs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import s_tir, tirx

from . import kernels_tree as tree
from .halving import runs
from .kernels import Places, kernels, places, rebuilt, with_changes, with_kernels
from .kernels_tree import Change
from .reduction import Edit


def drop_statements(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without stores, assertions and calls: long runs first. What then holds nothing goes too."""
    found = [
        (name, place)
        for name, place in places(mod)
        if isinstance(place.node, tirx.BufferStore | tirx.AssertStmt | tirx.Evaluate)
        and not (tree.is_nothing(place.node) and _alone(place.parent))
    ]
    yield from _halved(mod, found, lambda node: None)


def drop_definitions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without variables: their values, or zeros, stand in their places."""
    for name, func in kernels(mod).items():
        bound = [p for p in tree.places(func.body) if isinstance(p.node, tirx.Bind)]
        for run in runs(bound):
            for value in (_zero_of, _own_value):
                yield partial(_without_definitions, mod, name, func, run, value)


def unwrap(mod: tvm.IRModule) -> Iterator[Edit]:
    """Bodies in place of loops, branches, attributes and blocks: long runs first."""
    found = places(mod)
    for kinds, change in _UNWRAPPED:
        inside = [
            (name, place)
            for name, place in found
            if isinstance(place.node, kinds) and not _fixed(place.node)
        ]
        yield from _halved(mod, inside, change)


def _halved(mod: tvm.IRModule, found: Places, change: Change) -> Iterator[Edit]:
    for run in runs(found):
        changes = [(name, place.number, change) for name, place in run]
        yield partial(with_changes, mod, changes)


def _alone(parent: Any) -> bool:
    """A statement there has nothing before or after it."""
    return parent is None or isinstance(parent, s_tir.SBlock)


def _loop(node: Any) -> Any:
    return tree.substituted(node.body, {hash(node.loop_var): node.min})


def _then(node: Any) -> Any:
    return node.then_case


def _else(node: Any) -> Any:
    return node.else_case


def _body(node: Any) -> Any:
    return node.body


def _block(node: Any) -> Any:
    """What a block does, at the values of its variables; what it allocates is allocated there."""
    block = node.block
    values = dict(zip((hash(i.var) for i in block.iter_vars), node.iter_values, strict=True))
    allocations = [tirx.AllocBuffer(buffer) for buffer in block.alloc_buffers]
    body = tree.sequence([*allocations, block.init, block.body])
    return tree.substituted(body, values) if values else body


def _fixed(node: Any) -> bool:
    """A block whose views of buffers are declared nowhere else."""
    return isinstance(node, s_tir.SBlockRealize) and bool(len(node.block.match_buffers))


_UNWRAPPED: Sequence[tuple[Any, Callable[[Any], Any]]] = (
    (tirx.For, _loop),
    (s_tir.SBlockRealize, _block),
    (tirx.IfThenElse, _then),
    (tirx.IfThenElse, _else),
    ((tirx.While, tirx.AttrStmt), _body),
)


def _own_value(bind: Any) -> Any:
    return bind.value


def _zero_of(bind: Any) -> Any:
    dtype = tree.dtype(bind.value)
    return None if dtype is None else tirx.const(0, dtype)


def _without_definitions(
    mod: tvm.IRModule,
    name: str,
    func: tirx.PrimFunc,
    run: Sequence[tree.Place],
    value: Callable[[Any], Any],
) -> tvm.IRModule | None:
    body = tree.changed(func.body, {place.number: lambda node: None for place in run})
    # A later value may be made of an earlier variable.
    for place in reversed(run):
        stands = value(place.node)
        if stands is None:
            return None
        body = tree.substituted(body, {hash(place.node.var): stands})
    return with_kernels(mod, {name: rebuilt(func, body)})
