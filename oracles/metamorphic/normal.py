"""Normal forms, one for each known way in which a script fails to preserve PrimFuncs.

The nodes at which two modules differ depend on the expressions in them by accident. The normal
forms tell in which way the modules differ, and if anything else differs.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Op
from tvm.script import tirx as T

from ...compat import ir
from ...generators.rewrite.nodes import with_functions
from ..inspect import prim_funcs

Callback = tuple[Any, Callable[[Any, Any], Any]]
"""Classes of nodes, and a function that gives a node's replacement; it also receives the mutator,
to continue below the node."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal form."""

    lost: str
    """The change to a module on its way through the script and the parser, for a key."""
    of: Callable[[tvm.IRModule], tvm.IRModule]


def _in_prim_funcs(*callbacks: Callback) -> Callable[[tvm.IRModule], tvm.IRModule]:
    """Applies the callbacks to a module's PrimFuncs, and leaves everything else unchanged.

    Sequences are always flattened, as some versions of TVM do whenever they create one.
    """
    entries = ((ir.SeqStmt, _flattened), *callbacks)

    def normal(mod: tvm.IRModule) -> tvm.IRModule:
        changed = {gvar: tvm_ffi.structural_mutate(func, entries) for gvar, func in prim_funcs(mod)}
        return with_functions(mod, {**dict(mod.functions_items()), **changed})

    return normal


# Sequences


def _flattened(seq: Any, mutator: Any) -> Any:
    """`SeqStmt::Flatten`, by which the parser makes sequences (include/tvm/tirx/stmt.h)."""
    stmts = list(_with_effect(mutator.default_mutate(seq)))
    if len(stmts) < 2:
        return stmts[0] if stmts else ir.Evaluate(0)
    return ir.SeqStmt(stmts)


def _with_effect(stmt: Any) -> Iterator[Any]:
    """Yields the statements in a sequence and in nested ones, except `T.evaluate(0)`."""
    if isinstance(stmt, ir.SeqStmt):
        for each in stmt.seq:
            yield from _with_effect(each)
    elif not (isinstance(stmt, ir.Evaluate) and _is_zero(stmt.value)):
        yield stmt


def _is_zero(expr: Any) -> bool:
    return isinstance(expr, tirx.IntImm) and expr.value == 0


# Arithmetic that the parser folds


def _divided(a: Any, b: Any) -> Any:
    """Division; Python's operator works for floating-point numbers only."""
    return ir.Div(a, b) if _is_integer(a) else a / b


def _is_integer(expr: Any) -> bool:
    return str(expr.ty.dtype).startswith(("int", "uint", "bool"))


_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    ir.Add: operator.add,
    ir.Sub: operator.sub,
    ir.Mul: operator.mul,
    ir.Div: _divided,
    ir.FloorDiv: operator.floordiv,
    ir.FloorMod: operator.mod,
    ir.LT: operator.lt,
    ir.LE: operator.le,
    ir.GT: operator.gt,
    ir.GE: operator.ge,
}
"""Nodes that are written as an operator if TVM does not fold the operands, else by name."""

_FUNCTIONS: dict[Any, Callable[[Any, Any], Any]] = {
    ir.Min: T.min,
    ir.Max: T.max,
    ir.Mod: T.truncmod,
}
"""Nodes that are always written as a function."""

_PURE = 1
"""The greatest TCallEffectKind of calls without effects."""


def _is_kept(node: Any, made: Any) -> bool:
    """True if the operator gives exactly this node, without folding."""
    return type(made) is type(node) and made.a.same_as(node.a) and made.b.same_as(node.b)


def _operator(node: Any, mutator: Any) -> Any:
    apply = _OPERATORS[type(node)]
    a, b = mutator.mutate(node.a), mutator.mutate(node.b)
    return apply(a, b) if _is_kept(node, apply(node.a, node.b)) else type(node)(a, b)


def _function(node: Any, mutator: Any) -> Any:
    return _FUNCTIONS[type(node)](mutator.mutate(node.a), mutator.mutate(node.b))


def _call(call: Any, mutator: Any) -> Any:
    """The result of the script's function if it folds the call; else the call.

    Calls with effects, and of operators whose dtype is written, stay unchanged.
    """
    call = mutator.default_mutate(call)
    name = _function_of(call.op)
    if name is None:
        return call
    with contextlib.suppress(Exception):  # the parser raises it, too
        made = getattr(T, name)(*call.args)
        if not isinstance(made, tvm.ir.Call) and tvm_ffi.structural_equal(made.ty, call.ty):
            return made
    return call


def _function_of(op: Any) -> str | None:
    if not isinstance(op, Op) or op.get_attr("TScriptDtypePrintLocation") is not None:
        return None
    effect, name = op.get_attr("TCallEffectKind"), op.get_attr("TScriptPrinterName")
    return str(name) if name is not None and effect is not None and effect <= _PURE else None


# Loops, regions and indices


def _with_simple_extent(loop: Any, mutator: Any) -> Any:
    loop = mutator.default_mutate(loop)
    return ir.with_fields(loop, extent=_simple(loop.extent))


def _with_simple_extents(region: Any, mutator: Any) -> Any:
    """Simplifies the extents as a script does, which writes a range by its begin and its end."""
    region = mutator.default_mutate(region)
    ranges = [
        tvm.ir.Range.from_min_extent(each.min, _simple(each.min + each.extent - each.min))
        for each in region.region
    ]
    return ir.tensor_region(ir.tensor_of(region), ranges)


def _simple(expr: Any) -> Any:
    """The expression, simplified by TVM until it settles.

    In some sums TVM swaps two terms each time; then one of the two forms is chosen.
    """
    simplify = ir.Analyzer().simplify
    for _ in range(_SETTLES):
        before, expr = expr, simplify(expr)
    return min(before, expr, key=lambda each: tvm_ffi.structural_hash(each, map_free_vars=True))


_SETTLES = 4
"""Number of simplifications after which only sums with such swapped terms still change."""


def _load_of_first(load: Any, mutator: Any) -> Any:
    load = mutator.default_mutate(load)
    buffer = ir.tensor_of(load)
    return ir.tensor_load(buffer, [0]) if _is_written_as_number(load, buffer) else load


def _store_of_first(store: Any, mutator: Any) -> Any:
    store = mutator.default_mutate(store)
    if not _is_written_as_number(store, store.buffer):
        return store
    return ir.BufferStore(store.buffer, store.value, [0])


def _is_written_as_number(access: Any, buffer: Any) -> bool:
    """True if the script only has the buffer's name, which is parsed as its first element."""
    return getattr(access, "predicate", None) is None and any(map(buffer.is_scalar, (True, False)))


# Threads

_THREADS = ("thread_extent", "virtual_thread")
"""The attributes that are printed as T.launch_thread."""


def _with_extent_as_domain(stmt: Any, mutator: Any) -> Any:
    stmt = mutator.default_mutate(stmt)
    if stmt.attr_key not in _THREADS or not isinstance(stmt.node, tirx.IterVar):
        return stmt
    domain = tvm.ir.Range.from_min_extent(tirx.const(0, stmt.value.ty.dtype), stmt.value)
    return ir.with_fields(stmt, node=ir.with_fields(stmt.node, dom=domain))


NORMAL_FORMS: tuple[Normal, ...] = (
    Normal("sequences are flattened", _in_prim_funcs()),
    Normal(
        "arithmetic is folded",
        _in_prim_funcs(
            (tuple(_OPERATORS), _operator), (tuple(_FUNCTIONS), _function), (tvm.ir.Call, _call)
        ),
    ),
    Normal(
        "the extent of a loop is simplified",
        _in_prim_funcs((ir.For, _with_simple_extent)),
    ),
    Normal(
        "the extent of a region is simplified",
        _in_prim_funcs((ir.TensorRegion, _with_simple_extents)),
    ),
    Normal(
        "the index of the one element of a buffer is dropped",
        _in_prim_funcs((ir.TensorLoad, _load_of_first), (ir.BufferStore, _store_of_first)),
    ),
    Normal(
        "the domain of a thread axis is dropped",
        _in_prim_funcs((ir.AttrStmt, _with_extent_as_domain)),
    ),
)
"""The normal forms in the order of trial; each is applied on top of those before it."""
