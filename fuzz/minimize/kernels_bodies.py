"""Reductions over the bodies of PrimFuncs: their number, statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.rewrite.nodes import rebuilt
from . import kernels_tree as tree
from .kernels import (
    HAS_BLOCKS,
    Places,
    changed_in_runs,
    kernels,
    places,
    with_changes,
    with_kernels,
)
from .reduction import Edit, long_runs, runs

PARTS = 4
"""Parts of PrimFuncs to try early; smaller parts wait until other things are gone."""


def most_bodies_trivial(mod: tvm.IRModule) -> Iterator[Edit]:
    """Make all bodies do nothing, do so in a block, or write zeros; or make a part do nothing."""
    ranks = {name: _rank(func) for name, func in kernels(mod).items()}
    yield from _trivial(mod, list(ranks), ranks)
    large = [name for name, rank in ranks.items() if rank]
    for run in long_runs(large, PARTS):
        if len(run) < len(large):
            yield partial(_with_bodies, mod, run, _nothing)


def _trivial(mod: tvm.IRModule, names: Sequence[str], ranks: Mapping[str, int]) -> Iterator[Edit]:
    """Replace bodies by trivial ones, which are sorted by size and only replace larger bodies."""
    old = kernels(mod)
    for rank, body in enumerate(_BODIES):
        larger = [
            name
            for name in names
            if ranks[name] > rank and (body is _nothing or HAS_BLOCKS in (old[name].attrs or {}))
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
        return ir.Return(tirx.const(0, func.ret_type.dtype))
    return tree.nothing()


def _in_a_block(body: Any) -> Any:
    return ir.SBlockRealize([], True, ir.SBlock([], [], [], "root", body))


def _zeros(func: tirx.PrimFunc) -> Any:
    written = outputs(func)
    returned = _nothing(func)
    stores = [_filled(buffer) for buffer in written]
    if isinstance(returned, ir.Return):
        stores.append(returned)
    return _in_a_block(tree.sequence(stores) or returned)


def _filled(buffer: Any) -> Any:
    ints = [dim.ty.dtype for dim in buffer.ty.shape]
    loops = [tirx.Var(f"i{i}", dtype) for i, dtype in enumerate(ints)]
    axes = [tirx.Var(f"v{i}", dtype) for i, dtype in enumerate(ints)]
    store = ir.BufferStore(buffer, tirx.const(0, buffer.ty.dtype.dtype), axes)
    ones = [tvm.ir.Range.from_min_extent(axis, tirx.const(1, axis.ty.dtype)) for axis in axes]
    block = ir.SBlock(
        [
            tirx.IterVar(tvm.ir.Range(tirx.const(0, var.ty.dtype), dim), var, tirx.IterVar.DataPar)
            for var, dim in zip(axes, buffer.ty.shape, strict=True)
        ],
        [],
        [ir.tensor_region(buffer, ones)],
        "zeros",
        store,
    )
    stmt = ir.SBlockRealize(loops, True, block)
    for var, dim in reversed(list(zip(loops, buffer.ty.shape, strict=True))):
        stmt = ir.For(var, tirx.const(0, var.ty.dtype), dim, ir.ForKind.SERIAL, stmt)
    return stmt


def outputs(func: tirx.PrimFunc) -> list[Any]:
    """The parameters to which it writes; the last buffer if no statement stores."""
    stored = {
        hash(place.node.buffer)
        for place in tree.places(func.body)
        if isinstance(place.node, ir.BufferStore)
    }
    buffers = [param for param in func.params if isinstance(param.ty, tirx.BufferType)]
    return [param for param in buffers if hash(param) in stored] or buffers[-1:]


_BODIES = (_nothing, lambda func: _in_a_block(_nothing(func)), _zeros)


def _rank(func: tirx.PrimFunc) -> int:
    body = func.body
    if tree.is_nothing(body) or isinstance(body, ir.Return):
        return 0
    if isinstance(body, ir.SBlockRealize) and tree.is_nothing(body.block.body):
        return 1
    nodes = [place.node for place in tree.places(body)]
    writes = [node for node in nodes if isinstance(node, ir.BufferStore)]
    blocks = [node for node in nodes if isinstance(node, ir.SBlock)]
    zeros = all(isinstance(node.value, tirx.IntImm | tirx.FloatImm) for node in writes)
    plain = not any(isinstance(node, tvm.ir.Call) for node in nodes)
    return 2 if plain and zeros and len(blocks) <= len(writes) + 1 <= len(func.params) + 1 else 3


def drop_statements(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop stores, assertions and calls, long runs first. Emptied statements are dropped, too."""
    found = [
        (name, place)
        for name, place in places(mod)
        if isinstance(place.node, ir.BufferStore | ir.AssertStmt | ir.Evaluate)
        and not (tree.is_nothing(place.node) and _alone(place.parent))
    ]
    yield from changed_in_runs(mod, found, lambda node: None)


def drop_definitions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop variables; their values, or zeros, replace them."""
    for name, func in kernels(mod).items():
        for run in runs([p for p in tree.places(func.body) if isinstance(p.node, ir.Bind)]):
            for value in (_zero_of, attrgetter("value")):
                yield partial(_without_definitions, mod, name, func, run, value)


def unwrap(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace loops, branches, attributes and blocks by their bodies or conditions, in runs."""
    found = places(mod)
    for kinds, change in _UNWRAPPED:
        inside = [
            (name, place)
            for name, place in found
            if isinstance(place.node, kinds) and not _fixed(place.node)
        ]
        yield from changed_in_runs(mod, inside, change)


def _alone(parent: Any) -> bool:
    """Return whether a statement at this place has no neighbours."""
    return parent is None or isinstance(parent, ir.SBlock)


def _loop(node: Any) -> Any:
    return tree.substituted(node.body, {hash(node.loop_var): node.min})


def _block(node: Any) -> Any:
    """The body of a block, for the values of its variables, with its buffers allocated in place."""
    block = node.block
    values = dict(zip((hash(i.var) for i in block.iter_vars), node.iter_values, strict=True))
    allocations = [ir.AllocBuffer(buffer) for buffer in block.alloc_buffers]
    body = tree.sequence([*allocations, block.init, block.body])
    return tree.substituted(body, values) if values else body


def _condition(node: Any) -> Any:
    """Evaluate only the condition, since the bug may be in the code that handles it."""
    return ir.Evaluate(node.condition)


def _fixed(node: Any) -> bool:
    """Return whether it is a block whose views of buffers are declared nowhere else."""
    return isinstance(node, ir.SBlockRealize) and bool(len(node.block.match_buffers))


_UNWRAPPED: Sequence[tuple[Any, Callable[[Any], Any]]] = (
    (ir.For, _loop),
    (ir.SBlockRealize, _block),
    (ir.IfThenElse, attrgetter("then_case")),
    (ir.IfThenElse, attrgetter("else_case")),
    ((ir.While, ir.AttrStmt), attrgetter("body")),
    ((ir.IfThenElse, ir.While), _condition),
)


def _zero_of(bind: Any) -> Any:
    return None if tree.dtype(bind.value) is None else tree.zero(bind.value)


def _without_definitions(
    mod: tvm.IRModule,
    name: str,
    func: tirx.PrimFunc,
    run: Sequence[tree.BodyNode],
    value: Callable[[Any], Any],
) -> tvm.IRModule | None:
    body = tree.changed(func.body, {place.number: lambda node: None for place in run})
    # A later value may use an earlier variable.
    for place in reversed(run):
        stands = value(place.node)
        if stands is None:
            return None
        body = tree.substituted(body, {hash(place.node.var): stands})
    return with_kernels(mod, {name: rebuilt(func, body)})


LITERALS = (tirx.IntImm, tirx.FloatImm, ir.StringImm)


def zero_values(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace stored values by zeros, then indices; long runs come first."""
    stores = [(name, p) for name, p in places(mod) if isinstance(p.parent, ir.BufferStore)]
    values = [(name, p) for name, p in stores if p.node.same_as(p.parent.value)]
    yield from _with_zeros(mod, values)
    yield from _with_zeros(mod, [item for item in stores if item not in values])


def simplify_expressions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace expressions by literals or operands, from outside to inside."""
    found = [
        (name, place)
        for name, place in places(mod)
        if isinstance(place.node, tvm.ir.Expr) and not _bounds(place)
    ]
    for name, place in found:
        dtype = tree.dtype(place.node)
        if dtype is None:
            continue
        for literal in _literals(place.node, dtype):
            yield partial(with_changes, mod, [(name, place.number, _constant(literal))])
        for operand in sorted(
            _like(place.node, dtype), key=lambda expr: bool(list(tree.operands(expr)))
        ):
            yield partial(with_changes, mod, [(name, place.number, _constant(operand))])


def _with_zeros(mod: tvm.IRModule, found: Places) -> Iterator[Edit]:
    wanted = [
        (name, p)
        for name, p in found
        if not isinstance(p.node, LITERALS) and tree.dtype(p.node) is not None
    ]
    yield from changed_in_runs(mod, wanted, tree.zero)


def _like(expr: Any, dtype: str, depth: int = 5) -> Iterator[Any]:
    """The nearest inner expressions that can replace it."""
    for operand in tree.operands(expr):
        if tree.dtype(operand) == dtype:
            yield operand
        elif depth:
            yield from _like(operand, dtype, depth - 1)


def _constant(expr: Any) -> tree.Change:
    return lambda node: expr


def _bounds(place: tree.BodyNode) -> bool:
    """Return whether it is a bound of a loop or the value of a block's variable."""
    return isinstance(place.parent, ir.For | ir.SBlockRealize) and not (
        isinstance(place.parent, ir.SBlockRealize) and place.node.same_as(place.parent.predicate)
    )


def _literals(node: Any, dtype: str) -> list[Any]:
    if isinstance(node, LITERALS):
        return []
    if dtype == "bool":
        return [tirx.const(True, "bool"), tirx.const(False, "bool")]
    return [tirx.const(0, dtype)]
