"""Mutations of PrimFuncs, scheduled or not."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tvm
from tvm import tirx
from tvm.ir import Op

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.minimize import kernels_tree as tree
from relaxfuzz.generators.rewrite.nodes import rebuilt, used_vars
from relaxfuzz.oracles.inspect import attr, is_bound_to_threads, nodes

from .live import live_kernels
from .mutation import Changes, Mutant, Mutation
from .relax_structure import with_function

Forms = Callable[[Any, Any], Iterator[Any]]
"""Yields replacements of a node, given with its parent; None removes a statement."""


def anywhere(func: tirx.PrimFunc) -> bool:
    """Every PrimFunc."""
    return True


def on_cpu(func: tirx.PrimFunc) -> bool:
    """True if no thread of a device runs it, as device code only has serial loops."""
    return not is_bound_to_threads(func) and not any(
        str(stmt.attr_key) == "thread_extent" for stmt in nodes(func, ir.AttrStmt)
    )


def unpacked(func: tirx.PrimFunc) -> bool:
    """True if it does not unpack its own arguments: assertions on these hold for all given ones."""
    return bool(attr(func, "calling_conv") != 1)


def of_nodes(
    forms: Forms, where: Callable[[tirx.PrimFunc], bool] = anywhere
) -> Callable[[tvm.IRModule], Iterator[Mutant]]:
    """Mutants in which one node of one PrimFunc is replaced.

    Args:
        where: the predicate for PrimFuncs to mutate.
    """

    def mutants(mod: tvm.IRModule) -> Iterator[Mutant]:
        for name, func in live_kernels(mod):
            for place in tree.places(func.body) if where(func) else ():
                for new in forms(place.node, place.parent):
                    yield functools.partial(with_node, mod, name, place.number, new)

    return mutants


def with_node(mod: tvm.IRModule, name: str, number: int, new: Any) -> tvm.IRModule:
    """The module with another node at this number of a function's body."""
    func = mod[name]
    body = tree.changed(func.body, {number: lambda old: new})
    return with_function(mod, name, rebuilt(func, body))


OTHER: Mapping[type, tuple[type, ...]] = {
    ir.Add: (ir.Sub, ir.Mul),
    ir.Sub: (ir.Add,),
    ir.Mul: (ir.Add,),
    ir.Div: (ir.Mul,),
    ir.Mod: (ir.Add,),
    ir.FloorDiv: (ir.FloorMod,),
    ir.FloorMod: (ir.FloorDiv,),
    ir.Min: (ir.Max,),
    ir.Max: (ir.Min,),
    ir.LT: (ir.LE, ir.GE),
    ir.LE: (ir.LT, ir.GT),
    ir.GT: (ir.GE, ir.LT),
    ir.GE: (ir.GT, ir.LE),
    ir.EQ: (ir.NE,),
    ir.NE: (ir.EQ,),
    ir.And: (ir.Or,),
    ir.Or: (ir.And,),
}
"""Replacements of operators, with the same types of operands and result."""

ORDERED = (
    *(ir.Sub, ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod),
    *(ir.LT, ir.LE, ir.GT, ir.GE),
)
"""Operators whose operands have an order."""


def _region(parent: Any) -> bool:
    """True for the parent of numbers that only describe an access and are not computed with."""
    return isinstance(parent, tvm.ir.Call) and isinstance(parent.op, Op) and not _computes(parent)


def _computes(call: Any) -> bool:
    return isinstance(call.ty, tvm.ir.PrimType) and str(call.ty.dtype) not in ("", "void", "handle")


def other_operator(node: Any, parent: Any) -> Iterator[Any]:
    """Another operator."""
    for kind in OTHER.get(type(node), ()):
        yield kind(node.a, node.b)


def swapped_operands(node: Any, parent: Any) -> Iterator[Any]:
    """Exchange the operands."""
    if isinstance(node, ORDERED):
        yield type(node)(node.b, node.a)
    if isinstance(node, ir.Select):
        yield ir.Select(node.condition, node.false_value, node.true_value)


def other_number(node: Any, parent: Any) -> Iterator[Any]:
    """Increase a constant of the computation by one."""
    if isinstance(parent, (ir.For, ir.TensorLoad, ir.SBlockRealize, ir.AttrStmt)) or _region(
        parent
    ):
        return
    if isinstance(parent, ir.BufferStore) and not node.same_as(parent.value):
        return
    if isinstance(node, tirx.IntImm) and not isinstance(parent, ir.Evaluate):
        is_bool = str(node.ty.dtype) == "bool"
        value = 1 - int(node.value) if is_bool else int(node.value) + 1
        yield tirx.IntImm(node.ty, value)
    if isinstance(node, tirx.FloatImm):
        yield tirx.FloatImm(node.ty, float(node.value) + 1.0)


def other_bound(node: Any, parent: Any) -> Iterator[Any]:
    """Begin or end a loop one iteration earlier or later."""
    if isinstance(node, ir.For) and node.kind != ir.ForKind.THREAD_BINDING:
        for step in (1, -1):
            yield tree.with_loop(node, extent=node.extent + step)
            yield tree.with_loop(node, min=node.min + step)


def other_index(node: Any, parent: Any) -> Iterator[Any]:
    """Access the element next to the one read or written, or another place of a block."""
    match node:
        case ir.TensorLoad():
            for indices in _nearby(node.indices):
                yield ir.tensor_load(ir.tensor_of(node), indices)
        case ir.BufferStore():
            for indices in _nearby(node.indices):
                yield ir.with_fields(node, indices=indices)
        case ir.SBlockRealize():
            for values in _nearby(node.iter_values):
                yield ir.SBlockRealize(values, node.predicate, node.block)


def _nearby(indices: Any) -> Iterator[list[Any]]:
    for place, index in enumerate(indices):
        if tree.dtype(index) is not None and not isinstance(index, ir.Ramp):
            for step in (1, -1):
                yield [*indices[:place], index + step, *indices[place + 1 :]]


NARROWER = {"float64": "float32", "float32": "float16", "int64": "int32", "int32": "int8"}


def narrowed(node: Any, parent: Any) -> Iterator[Any]:
    """Cast a stored value to a shorter type and back."""
    if isinstance(node, ir.BufferStore):
        dtype = tree.dtype(node.value)
        shorter = NARROWER.get(str(dtype))
        if shorter is not None:
            yield ir.with_fields(node, value=ir.Cast(dtype, ir.Cast(shorter, node.value)))


def no_guard(node: Any, parent: Any) -> Iterator[Any]:
    """Drop a condition."""
    match node:
        case ir.IfThenElse():
            yield node.then_case
        case ir.Select():
            yield node.true_value
        case ir.SBlockRealize() if not isinstance(node.predicate, tirx.IntImm):
            yield ir.SBlockRealize(node.iter_values, True, node.block)
        case tvm.ir.Call() if getattr(node.op, "name", "") == "tirx.if_then_else":
            yield node.args[1]


def other_init(node: Any, parent: Any) -> Iterator[Any]:
    """Begin a reduction with another value, or with none."""
    if isinstance(node, ir.SBlock) and node.init is not None:
        yield tree.with_block(node, init=None)
        if isinstance(node.init, ir.BufferStore) and tree.dtype(node.init.value) != "bool":
            value = node.init.value + tirx.const(1, node.init.value.ty.dtype)
            yield tree.with_block(node, init=ir.with_fields(node.init, value=value))


def no_store(node: Any, parent: Any) -> Iterator[Any]:
    """Drop a store."""
    if isinstance(node, ir.BufferStore):
        yield tree.nothing()


def no_effect(node: Any, parent: Any) -> Iterator[Any]:
    """Drop an assertion or a call that has an effect."""
    if isinstance(node, ir.AssertStmt) or (_is_called(node) and not is_sync(node)):
        yield tree.nothing()


def _is_called(node: Any) -> bool:
    return isinstance(node, ir.Evaluate) and isinstance(node.value, tvm.ir.Call)


def is_sync(node: Any) -> bool:
    """True for a barrier."""
    return _is_called(node) and "storage_sync" in str(getattr(node.value.op, "name", ""))


def no_sync(node: Any, parent: Any) -> Iterator[Any]:
    """Drop a barrier."""
    if is_sync(node):
        yield tree.nothing()


def reordered(node: Any, parent: Any) -> Iterator[Any]:
    """Exchange two statements, if the second reads a value that the first writes."""
    if isinstance(node, ir.SeqStmt):
        stmts = list(node.seq)
        for place, (a, b) in enumerate(itertools.pairwise(stmts)):
            if _written(a) & _read(b) and not isinstance(b, (ir.Bind, ir.AllocBuffer)):
                yield tree.sequence([*stmts[:place], b, a, *stmts[place + 2 :]])


def _written(stmt: Any) -> set[int]:
    return {hash(store.buffer) for store in nodes(stmt, ir.BufferStore)}


def _read(stmt: Any) -> set[int]:
    return {hash(ir.tensor_of(load)) for load in nodes(stmt, ir.TensorLoad)}


def other_threads(node: Any, parent: Any) -> Iterator[Any]:
    """Use one thread more or less, or half of them."""
    if isinstance(node, ir.For) and node.kind == ir.ForKind.THREAD_BINDING:
        for extent in _extents(node.extent):
            yield tree.with_loop(node, extent=extent)
    if isinstance(node, ir.AttrStmt) and str(node.attr_key) == "thread_extent":
        for extent in _extents(node.value):
            yield ir.AttrStmt(node.node, node.attr_key, extent, node.body)


def _extents(extent: Any) -> Iterator[Any]:
    if isinstance(extent, tirx.IntImm):
        now = int(extent.value)
        for new in (now - 1, now + 1, now // 2):
            if new > 0 and new != now:
                yield tirx.IntImm(extent.ty, new)


def made_parallel(node: Any, parent: Any) -> Iterator[Any]:
    """Make a loop parallel that sums up into one element, or writes it repeatedly."""
    if isinstance(node, ir.For) and node.kind == ir.ForKind.SERIAL and _sums_up(node):
        yield tree.with_loop(node, kind=ir.ForKind.PARALLEL)


def _sums_up(loop: Any) -> bool:
    """True if more than one iteration writes to an element that it has read."""
    if isinstance(loop.extent, tirx.IntImm) and int(loop.extent.value) < 2:
        return False
    moving = {hash(loop.loop_var)}
    for realize in nodes(loop, ir.SBlockRealize):
        pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
        moving |= {hash(axis.var) for axis, value in pairs if moving & used_vars([value])}
    for bind in nodes(loop, ir.Bind):
        moving |= {hash(bind.var)} if moving & used_vars([bind.value]) else set()
    stores = nodes(loop, ir.BufferStore)
    return any(
        hash(store.buffer) in _read(store.value) and not moving & used_vars(store.indices)
        for store in stores
    )


def lost_attribute(mod: tvm.IRModule) -> Iterator[Mutant]:
    """Drop an attribute of a PrimFunc other than its symbol."""
    for name, func in live_kernels(mod):
        for key in dict(func.attrs or {}):
            if str(key) != "global_symbol":
                new = func.without_attr(str(key))
                yield functools.partial(with_function, mod, name, new)


_VALUE = Changes.VALUE
MUTATIONS = (
    Mutation("PrimFunc: operands swapped", _VALUE, of_nodes(swapped_operands)),
    Mutation("PrimFunc: operator replaced", _VALUE, of_nodes(other_operator)),
    Mutation("PrimFunc: constant changed", _VALUE, of_nodes(other_number)),
    Mutation("PrimFunc: loop off by one", _VALUE, of_nodes(other_bound)),
    Mutation("PrimFunc: index off by one", _VALUE, of_nodes(other_index)),
    Mutation("PrimFunc: dtype narrowed", _VALUE, of_nodes(narrowed)),
    Mutation("PrimFunc: guard removed", _VALUE, of_nodes(no_guard)),
    Mutation("PrimFunc: init changed", _VALUE, of_nodes(other_init)),
    Mutation("PrimFunc: store dropped", _VALUE, of_nodes(no_store)),
    Mutation("PrimFunc: statements reordered", _VALUE, of_nodes(reordered)),
    Mutation("PrimFunc: loop made parallel", _VALUE, of_nodes(made_parallel, on_cpu)),
    Mutation("PrimFunc: effect lost", Changes.EFFECT, of_nodes(no_effect, unpacked)),
    Mutation("PrimFunc: barrier removed", _VALUE, of_nodes(no_sync)),
    Mutation("PrimFunc: threads changed", _VALUE, of_nodes(other_threads)),
    Mutation("PrimFunc: attribute lost", Changes.ATTRIBUTE, lost_attribute),
)
