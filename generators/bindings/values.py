"""Operators of the table, idioms, aliases, tuples and match_casts."""

from __future__ import annotations

import functools
import operator as operators

from tvm import relax, tirx

from ...compat.ops import relax_op
from .. import idioms
from ..choices import Choices
from ..scope import Scope
from .kind import Callees, Ops


def operator(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """One operator of the table."""
    op = c.pick(ops)
    if not op.pure:
        s.dataflow(False)
        s.pure = False
    s.bind(op.build(c, s))


def idiom(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A few bindings in the pattern that some pass looks for."""
    c.pick(idioms.usable())(c, s)


def alias(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`y = x`, as frontends leave behind."""
    s.bind(s.tensor(c, complete=False).expr)


def make_tuple(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A tuple of tensors, sometimes with a tuple inside."""
    fields: list[relax.Expr] = [s.tensor(c, complete=False).expr for _ in range(1 + c.below(3))]
    if s.tuples and c.flag(0.3):
        fields.append(c.pick(s.tuples))
    s.bind(relax.Tuple(fields))


def get_item(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A field of a tuple in scope."""
    if not s.tuples:
        make_tuple(c, s, ops, callees)
    source = s.tuples[-1 - c.below(len(s.tuples))]
    if len(source.ty.fields):
        s.bind(relax.TupleGetItem(source, c.below(len(source.ty.fields))))


def match_cast(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A match_cast to the type at hand, to a less known one, or to fresh symbolic dims."""
    x = s.tensor(c, ndim=(2, 1, 3))
    kind = c.below(3)
    dtype = x.dtype or ""
    if kind == 0 or x.shape is None:
        ty = x.expr.ty
    elif kind == 1:
        ty = relax.TensorType(dtype=dtype, ndim=x.ndim)
    else:
        dims = [tirx.Var(s.module.unique("k"), "int64"), *x.shape[1:]]
        ty = relax.TensorType(relax.ShapeExpr(dims), dtype)
    cast = s.match_cast(x.expr, ty)
    if kind == 2 and c.flag():
        _use_of_size(c, s, cast)


def _use_of_size(c: Choices, s: Scope, cast: relax.Var) -> None:
    """Something of the size that a match_cast found out; mostly, its value is not used itself."""
    size, *rest = cast.ty.shape.values
    dtype = str(cast.ty.dtype)
    kind = c.below(4)
    # A 0 in the new shape would stand for the dim of the old one.
    if kind == 3 and not any(isinstance(dim, tirx.IntImm) and dim.value == 0 for dim in rest):
        product = functools.reduce(operators.mul, rest, size)
        s.emit(relax_op.reshape(cast, relax.ShapeExpr([product])))
        return
    s.values.pop()
    if kind == 2:
        s.emit(relax_op.full(relax.ShapeExpr([size, 2]), relax.const(1, dtype)))
    else:
        make = relax_op.ones if kind == 1 else relax_op.zeros
        s.emit(make(relax.ShapeExpr([size, *rest]), dtype))
