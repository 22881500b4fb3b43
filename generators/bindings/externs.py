"""Calls of functions outside of the module, effects and device hints."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax

from ...compat import ir
from ...compat.ops import registered, relax_op
from ..choices import Choices
from ..ops.record import ALL
from ..scope import Scope
from ..traits import Trait
from ..values import Value
from .calls import argument
from .kind import Callees, Ops
from .values import operator

COPY = "vm.builtin.copy"
"""A packed function of TVM's runtime: its result is its operand."""
UNKNOWN = "external.copy_to"
"""A packed function that no runtime has: it writes into its last argument."""


def call_dps_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of an external function that writes into its last argument."""
    x = s.tensor(c)
    s.bind(relax_op.call_dps_packed(UNKNOWN, (x.expr,), x.expr.ty))


def call_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A pure call of a packed function of TVM's runtime, on operands of one kind or several."""
    x = s.tensor(c, complete=c.flag(0.7), dtype=ALL)
    kind = c.below(6)
    if kind <= 1:
        s.bind(_packed("copy", x.expr, ty=_less_known(c, s, x)))
    elif kind == 2:
        s.bind(_packed("shape_of", x.expr, ty=relax.ShapeType(ndim=x.ndim)))
    elif kind == 3:
        s.emit(_packed("reshape", x.expr, s.bind(relax_op.shape_of(x.expr)), ty=x.expr.ty))
    else:
        field, ty = _other_operand(c, s)
        pair = s.bind(_packed("make_tuple", x.expr, field, ty=relax.TupleType([x.expr.ty, ty])))
        first = s.bind(relax.TupleGetItem(pair, 0))
        if kind == 5:
            s.emit(_packed("copy", first, ty=x.expr.ty))


def _less_known(c: Choices, s: Scope, x: Value) -> relax.Type:
    """The tensor's type, or a less complete one, as an external function may declare it."""
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag(0.3):
        ndim, dtype = c.pick(((x.ndim, x.dtype), (-1, x.dtype), (x.ndim, ""), (-1, "")))
        return relax.TensorType(dtype=dtype or "", ndim=ndim)
    return x.expr.ty


def _packed(name: str, *args: relax.Expr, ty: relax.Type) -> relax.Call:
    return relax_op.call_pure_packed(f"vm.builtin.{name}", *args, ty_args=[ty])


def _other_operand(c: Choices, s: Scope) -> tuple[relax.Expr, relax.Type]:
    """An operand that is not a tensor, and its type in a tuple."""
    kind = c.below(5)
    if kind == 0:
        return relax.prim_value(c.pick((1, 2))), relax.AnyType()
    if kind == 1:
        return ir.StringImm(c.pick(("float32", "name", ""))), relax.AnyType()
    if kind == 2:
        return ir.dtype_constant(tvm_ffi.dtype(c.pick(("float32", "int8")))), relax.AnyType()
    if kind == 3:
        return s.bind(relax_op.null_value()), relax.AnyType()
    dims = relax.ShapeExpr(list(s.shape(c, 2)))
    return dims, dims.ty


def call_outside(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of a function of the module that is an ExternFunc, by its GlobalVar or a variable.

    Its type says whether it is pure. Operators that assume purity may call one of unknown type.
    """
    impure = s.has(Trait.IMPURE)
    known = [
        gvar
        for gvar, func in s.module.functions.items()
        if isinstance(func, relax.ExternFunc)
        and (impure or gvar.ty.params is None or gvar.ty.purity)
    ]
    if not known:
        operator(c, s, ops, callees)
        return
    gvar = c.pick(known)
    outside = s.module.functions[gvar]
    typed = gvar.ty.params is not None
    pure = bool(gvar.ty.purity) if typed else not (impure and c.flag())
    if not pure and outside.global_symbol != UNKNOWN:
        s.dataflow(False)
        s.pure = False
    func: relax.Expr = s.bind(gvar) if s.has(Trait.FUNCTION_VALUES) and c.flag(0.3) else gvar
    if typed:
        s.bind(relax.Call(func, [argument(c, s, ty, {}) for ty in gvar.ty.params]))
        return
    x = s.tensor(c)
    if outside.global_symbol == UNKNOWN:
        s.bind(relax_op.call_dps_packed(func, (x.expr,), x.expr.ty))
    elif pure:
        op = registered("relax.call_pure_packed")
        s.bind(relax.Call(op, [func, x.expr], None, [_less_known(c, s, x)]))
    else:
        s.bind(relax.Call(func, [x.expr], None, [_less_known(c, s, x)]))


def impure_call(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call with a visible effect; the function around it becomes impure."""
    x = s.tensor(c, complete=False)
    s.pure = False
    if c.flag():
        ty = _less_known(c, s, x)
        s.bind(relax.Call(relax.ExternFunc(COPY), [x.expr], None, [ty]))
    else:
        s.bind(relax_op.print(x.expr, format="{}"))


def device_hint(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`hint_on_device` or `to_vdevice`."""
    x = s.tensor(c)
    if c.flag(0.4):
        s.bind(relax_op.to_vdevice(x.expr, c.pick(s.module.vdevices)))
    else:
        s.bind(relax_op.hint_on_device(x.expr, tvm.cpu(c.below(2)), "global"))
