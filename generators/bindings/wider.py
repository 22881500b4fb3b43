"""Arguments of parameters with incomplete types, and match_casts that recover their types."""

from __future__ import annotations

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import DEFAULT_DTYPE, Scope
from ..values import Value
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops, finish
from .shapes import fresh_dims


def any_value(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A value of unknown type, passed through or not, and a match_cast to a tensor."""
    x = s.tensor(c, dtype=ARITHMETIC)
    kind = c.below(5)
    value: relax.Expr
    if kind == 4:
        _no_tensor(c, s, x)
        return
    if kind == 3:
        # The argument chosen for this parameter has one dim and this dtype.
        (dim,) = fresh_dims(c, s, (None,))
        value = s.param(relax.AnyType(), "any")
        _used(c, s, s.match_cast(value, relax.TensorType(relax.ShapeExpr([dim]), DEFAULT_DTYPE)))
        return
    types = (
        relax.AnyType(),
        relax.TensorType(dtype=x.dtype, ndim=x.ndim),
        relax.TensorType(dtype=""),
    )
    value = s.bind(relax.Call(_taker(c, s, types[kind], x), [s.forgotten(c, x)]))
    dims = relax.ShapeExpr(fresh_dims(c, s, x.shape or ()))
    _used(c, s, s.match_cast(value, relax.TensorType(dims, x.dtype)))


def _no_tensor(c: Choices, s: Scope, x: Value) -> None:
    """A tuple or a shape, passed through as a value of unknown type, and cast to its type again."""
    if c.flag():
        given = s.bind(relax.Tuple([x.expr, s.tensor(c).expr]))
    else:
        given = s.bind(relax_op.shape_of(x.expr))
    value = s.bind(relax.Call(_taker(c, s, relax.AnyType(), None), [given]))
    cast = s.match_cast(value, given.ty)
    if isinstance(cast.ty, relax.TupleType):
        _used(c, s, s.bind(relax.TupleGetItem(cast, 0)))
    else:
        s.emit(relax_op.zeros(relax.ShapeExpr(cast.ty.values), DEFAULT_DTYPE))


def _used(c: Choices, s: Scope, cast: relax.Var) -> None:
    s.emit(c.pick(SAME_TYPE)(cast))


def _taker(c: Choices, s: Scope, ty: relax.Type, x: Value | None) -> relax.GlobalVar:
    """A private function that returns its argument, or computes with a match_cast of the tensor."""
    f = Scope(s.module, s.dims, s.dtypes)
    taken = result = f.param(ty)
    kind = c.below(3)
    if kind == 1:
        result = f.bind(taken)
    elif kind == 2 and x is not None:
        dims = fresh_dims(c, f, (None,) * x.ndim)
        cast = f.match_cast(taken, relax.TensorType(relax.ShapeExpr(dims), x.dtype))
        result = f.bind(c.pick(SAME_TYPE)(cast))
    return s.module.add("wide", finish(f, result))
