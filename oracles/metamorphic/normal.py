"""Normal forms of what a script does not keep of PrimFuncs, one for each way in which it does not.

Where two modules differ, the nodes at which they do are an accident of the expressions in them. The
normal forms tell by which of these ways they differ, and what else differs besides.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm.ir import Op
from tvm.script import tirx as T

from ...compat import ir
from ...generators.rewrite.nodes import with_functions
from ..inspect import prim_funcs

Callback = tuple[Any, Callable[[Any, Any], Any]]
"""Classes of nodes, and what takes the place of one, given the mutator that goes on below it."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal form."""

    lost: str
    """What happens to a module between its script and the parser, for a key."""
    of: Callable[[tvm.IRModule], tvm.IRModule]


def _in_prim_funcs(*callbacks: Callback) -> Callable[[tvm.IRModule], tvm.IRModule]:
    """What the callbacks make of a module's PrimFuncs; all else stays as it is.

    Sequences within sequences are flattened, and statements without effect are left out of them, as
    TVM does wherever it makes a sequence anew.
    """

    def normal(mod: tvm.IRModule) -> tvm.IRModule:
        changed = {
            gvar: tvm_ffi.structural_mutate(func, callbacks) for gvar, func in prim_funcs(mod)
        }
        return with_functions(mod, {**dict(mod.functions_items()), **changed})

    return normal


# Arithmetic that the parser folds


def _divided(a: Any, b: Any) -> Any:
    """Python's operator is for floating-point numbers alone."""
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
"""Written as an operator where TVM does not fold these operands, else by the node's own name."""

_FUNCTIONS: dict[Any, Callable[[Any, Any], Any]] = {
    ir.Min: T.min,
    ir.Max: T.max,
    ir.Mod: T.truncmod,
}
"""Written as a function, whatever the operands."""

_PURE = 1
"""The greatest TCallEffectKind of calls without effects."""


def _is_kept(node: Any, made: Any) -> bool:
    """The operator gives just this node."""
    return type(made) is type(node) and made.a.same_as(node.a) and made.b.same_as(node.b)


def _operator(node: Any, mutator: Any) -> Any:
    apply = _OPERATORS[type(node)]
    a, b = mutator.mutate(node.a), mutator.mutate(node.b)
    return apply(a, b) if _is_kept(node, apply(node.a, node.b)) else type(node)(a, b)


def _function(node: Any, mutator: Any) -> Any:
    return _FUNCTIONS[type(node)](mutator.mutate(node.a), mutator.mutate(node.b))


def _call(call: Any, mutator: Any) -> Any:
    """What the function of the script gives, if that is no call: it computes what it is given.

    Calls with effects, and of operators whose dtype is written, are left as they are.
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
    return ir.with_fields(loop, extent=ir.Analyzer().simplify(loop.extent), span=None)


def _with_simple_extents(region: Any, mutator: Any) -> Any:
    """It is written with the ends of its ranges, from which the parser works out the extents."""
    region = mutator.default_mutate(region)
    simplify = ir.Analyzer().simplify
    ranges = [
        tvm.ir.Range.from_min_extent(each.min, simplify(each.min + each.extent - each.min))
        for each in region.region
    ]
    return ir.tensor_region(ir.tensor_of(region), ranges)


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
    """The script has the buffer's name alone, and the parser reads the first element."""
    return getattr(access, "predicate", None) is None and any(map(buffer.is_scalar, (True, False)))


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
)
"""In the order in which they are tried; each is taken with those before it."""
