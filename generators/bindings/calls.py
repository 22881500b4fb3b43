"""Calls of the functions of the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait
from ..values import Dim
from .kind import Callee, Callees, Ops
from .shapes import shape_argument
from .values import operator

AGAIN = 0.4
"""The share of calls that go to a function already called: passes draw conclusions from all calls
of a function."""
AGREED = 0.5
"""The share of constants that equal the argument of an earlier call in the same place."""


def call_function(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of an earlier function of the module, sometimes with a second call on its result."""
    if not callees:
        operator(c, s, ops, callees)
        return
    for _ in range(1 + c.flag(0.3)):
        known = [callee for callee in callees if callee.gvar in s.module.given]
        among = known if known and c.flag(AGAIN) else callees
        _call(c, s, among[-1 - c.below(len(among))])


def _call(c: Choices, s: Scope, callee: Callee, *, export: bool = False) -> relax.Var:
    if not callee.func.is_pure:
        s.dataflow(False)
        s.pure = False
    dims = {var: c.pick(s.dims) for var in callee.symbolic}
    return s.bind(relax.Call(callee.gvar, arguments(c, s, callee, dims)), export=export)


def arguments(
    c: Choices, s: Scope, callee: Callee, dims: Mapping[tirx.Var, Dim]
) -> list[relax.Expr]:
    """Operands for a call of the function, with these dims for its symbolic variables."""
    params, earlier = callee.func.params, s.module.given.get(callee.gvar)
    if earlier is None or callee.symbolic:
        given = [argument(c, s, param.ty, dims) for param in params]
    else:
        given = [
            _constant_again(s, before)
            if isinstance(before, ir.GenericConst) and c.flag(AGREED)
            else argument(c, s, param.ty, dims)
            for param, before in zip(params, earlier, strict=True)
        ]
    s.module.given[callee.gvar] = given
    return given


def _constant_again(s: Scope, const: relax.Expr) -> relax.Expr:
    if s.has(Trait.SHARED_CONSTANTS):
        return const
    return relax.const(ir.constant_data(const))


def results(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """One to three calls of a function that returns a tuple; each result is used in its own way."""
    giving = [each for each in callees if len(_fields(each.func.ret_ty)) > 1]
    if not giving:
        call_function(c, s, ops, callees)
        return
    callee = giving[-1 - c.below(len(giving))]
    for use, at in [(c.below(5), c.below(3)) for _ in range(1 + c.below(3))]:
        result = _call(c, s, callee, export=use == 4)
        size = len(_fields(result.ty))
        if use == 1:
            result = s.bind(relax.TupleGetItem(s.bind(relax.Tuple([result, s.tensor(c).expr])), 0))
        elif use == 2:
            _pass_on(s, result, callees)
        elif use == 3:
            for field in range(size):
                s.bind(relax.TupleGetItem(result, field))
        if use <= 1:
            s.bind(relax.TupleGetItem(result, at % size))


def _fields(ty: relax.Type) -> list[relax.Type]:
    return list(ty.fields) if isinstance(ty, relax.TupleType) else []


def _pass_on(s: Scope, result: relax.Var, callees: Callees) -> None:
    """Pass the tuple to a function of its type; if there is none, bind it to another name."""
    for callee in reversed(callees):
        types = [param.ty for param in callee.func.params]
        if (
            callee.func.is_pure
            and not callee.symbolic
            and len(types) == 1
            and tvm_ffi.structural_equal(types[0], result.ty)
        ):
            s.bind(relax.Call(callee.gvar, [result]))
            return
    s.bind(result)


def argument(c: Choices, s: Scope, ty: relax.Type, dims: Mapping[tirx.Var, Dim]) -> relax.Expr:
    """A value in scope of a parameter's type, or a fresh one, with these dims for its variables."""
    if isinstance(ty, relax.TupleType):
        return relax.Tuple([argument(c, s, field, dims) for field in ty.fields])
    if isinstance(ty, relax.ShapeType):
        if ty.values is None:
            return shape_argument(c, s, list(s.shape(c, ty.ndim if ty.ndim >= 0 else 2)))
        return shape_argument(c, s, _substitute(ty.values, dims))
    if isinstance(ty, relax.AnyType):
        # The function casts the argument to this type, see `wider.any_value`.
        return s.tensor(c, dtype=DEFAULT_DTYPE, ndim=1).expr
    if isinstance(ty, PrimType):
        kind = str(ty.dtype)
        return relax.prim_value(tirx.const(1 if kind == "bool" else c.pick((2, 3, 1, 0)), kind))
    s.device = ty.vdevice
    shape = _substitute(ty.shape.values, dims) if isinstance(ty.shape, relax.ShapeExpr) else None
    dtype = str(ty.dtype) if ty.dtype is not None else None
    known = shape is not None and all(isinstance(dim, int) for dim in shape)
    if known and dtype and ty.vdevice is None and s.has(Trait.CONSTANTS) and c.flag(0.2):
        return s.constant(c, [d for d in shape or () if isinstance(d, int)], dtype).expr
    x = s.tensor(c, dtype=dtype, ndim=ty.ndim if ty.ndim >= 0 else None, shape=shape)
    if ty.vdevice is not None and x.vdevice is None:
        return s.emit(relax_op.to_vdevice(x.expr, ty.vdevice)).expr
    return s.forgotten(c, x)


def _substitute(values: Sequence[tvm.ir.Expr], dims: Mapping[tirx.Var, Dim]) -> list[Dim]:
    """The dims of a parameter (expressions over variables) with the variables replaced."""
    analyzer = ir.Analyzer()
    for var, dim in dims.items():
        analyzer.bind(var, tirx.const(dim, "int64") if isinstance(dim, int) else dim)
    out = [analyzer.simplify(value) for value in values]
    return [int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in out]
