"""Arguments of less known parameters, and what a match_cast finds out of them again."""

from __future__ import annotations

from tvm import relax

from ..choices import Choices
from ..scope import DEFAULT_DTYPE, Scope
from ..values import Value
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops, added
from .shapes import fresh_dims


def any_value(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A value of unknown type, passed through or not, and a match_cast to a tensor."""
    x = s.tensor(c, dtype=ARITHMETIC)
    kind = c.below(4)
    value: relax.Expr
    if kind == 3:
        # What is drawn for such a parameter has one dim and this dtype.
        (dim,) = fresh_dims(c, s, (None,))
        value = s.param(relax.AnyType(), "any")
        _used(c, s, s.match_cast(value, relax.TensorType(relax.ShapeExpr([dim]), DEFAULT_DTYPE)))
        return
    types = (
        relax.AnyType(),
        relax.TensorType(dtype=x.dtype, ndim=x.ndim),
        relax.TensorType(dtype=""),
    )
    value = s.bind(relax.Call(_taker(c, s, types[kind], x), [x.expr]))
    dims = relax.ShapeExpr(fresh_dims(c, s, x.shape or ()))
    _used(c, s, s.match_cast(value, relax.TensorType(dims, x.dtype)))


def _used(c: Choices, s: Scope, cast: relax.Var) -> None:
    s.emit(c.pick(SAME_TYPE)(cast))


def _taker(c: Choices, s: Scope, ty: relax.Type, x: Value) -> relax.GlobalVar:
    """A private function that passes its argument on, or works on what a match_cast makes of it."""
    f = Scope(s.module, s.dims, s.dtypes)
    taken = result = f.param(ty)
    kind = c.below(3)
    if kind == 1:
        result = f.bind(taken)
    elif kind == 2:
        dims = fresh_dims(c, f, (None,) * x.ndim)
        cast = f.match_cast(taken, relax.TensorType(relax.ShapeExpr(dims), x.dtype))
        result = f.bind(c.pick(SAME_TYPE)(cast))
    return added(f, "wide", result)
