"""Operators of the table, aliases, tuples and match_casts."""

from __future__ import annotations

import functools
import operator as operators

import tvm_ffi
from tvm import relax, tirx

from ...compat.ops import relax_op
from ..choices import Choices
from ..idioms.building import Offer
from ..ops.record import Op
from ..scope import Scope
from ..traits import Trait
from ..values import Value, dims_of, is_nested
from .kind import ARITHMETIC, Callees, Ops
from .shapes import fresh_dims


def operator(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """One operator of the table."""
    op = c.pick(ops)
    if not op.pure:
        s.dataflow(False)
        s.pure = False
    result = s.bind(op.call(c, s))
    fields = result.ty.fields if isinstance(result.ty, relax.TupleType) else ()
    if len(fields) and s.has(Trait.TUPLES) and c.flag():
        s.bind(relax.TupleGetItem(result, c.field(len(fields))))


def applied(op: Op, x: Value, c: Choices, s: Scope) -> relax.Expr:
    """A call of the operator, on this value if it fits one of its first operands."""
    offer = Offer(x)
    s.next_operands = (offer, offer, offer)
    call = op.call(c, s)
    s.next_operands = ()
    return call


def alias(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`y = x`, as frontends leave behind."""
    s.bind(s.tensor(c, complete=False).expr)


ROWS = 0.4
"""The chance that a tuple consists of tuples of equal length."""
NEW = 0.4
"""The chance that a tuple is made for its field."""
DEEPER = 0.7
"""The chance that a field of a field is taken, if the field is a tuple."""


def make_tuple(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A tuple of tensors, sometimes with a tuple inside, or of tuples of one type."""
    if c.flag(ROWS):
        x = s.tensor(c)
        same = [v.expr for v in s.values if tvm_ffi.structural_equal(v.expr.ty, x.expr.ty)]
        alike = [x.expr, *same]
        size, count = 1 + c.below(3), 2 + c.below(2)
        rows = [relax.Tuple([c.pick(alike) for _ in range(size)]) for _ in range(count)]
        s.bind(relax.Tuple([s.bind(row) if c.flag() else row for row in rows]))
        return
    fields: list[relax.Expr] = [s.tensor(c, complete=False).expr for _ in range(1 + c.below(3))]
    if s.tuples and c.flag(0.3):
        fields.append(c.pick(s.tuples))
    s.bind(relax.Tuple(fields))


def get_item(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A field of a tuple in scope, or of a new one; perhaps a field of that."""
    if not s.tuples or c.flag(NEW):
        make_tuple(c, s, ops, callees)
    source = s.tuples[-1 - c.below(len(s.tuples))]
    while isinstance(source.ty, relax.TupleType) and len(source.ty.fields):
        source = s.bind(relax.TupleGetItem(source, c.below(len(source.ty.fields))))
        if not c.flag(DEEPER):
            break


def tuple_operand(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An operator on a tuple that is a parameter, a result or a variable, not a literal one."""
    x = s.tensor(c, dtype=(*ARITHMETIC, "bool"), ndim=(2, 1, 3), static=True, fresh_shape=(4, 3))
    assert x.shape is not None
    kind = c.below(4)
    if kind == 3:
        # A split into one section gives a tensor.
        pair = s.bind(relax_op.split(s.emit(relax_op.concat([x.expr, x.expr])).expr, 2))
    elif kind == 2:
        pair = s.param(relax.TupleType([x.expr.ty] * (2 + c.below(2))), "tensors")
        s.tuples.append(pair)
    else:
        y = s.tensor(c, dtype=x.dtype, shape=x.shape)
        pair = s.bind(relax.Tuple([x.expr, y.expr]))
    if kind == 1:
        pair = s.bind(pair)
    if isinstance(pair.ty, relax.TupleType):
        join = relax_op.stack if c.flag(0.4) else relax_op.concat
        s.emit(join(pair, axis=c.below(x.ndim)))


def match_cast(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A match_cast to the same type, to a less precise one, or to fresh symbolic dims."""
    kind = c.below(4)
    nested = [var for var in s.tuples if is_nested(var.ty)] if kind > 1 else []
    tuples = [var for var in s.tuples if len(var.ty.fields)] if kind == 3 else []
    if nested or tuples:
        whole = c.pick(nested or tuples)
        cast = s.match_cast(whole, _cast_type(c, s, whole.ty))
        s.bind(relax.TupleGetItem(cast, c.below(len(cast.ty.fields))))
        return
    x = s.tensor(c, ndim=(2, 1, 3))
    if kind == 0 or x.shape is None:
        ty = x.expr.ty
    elif kind == 1:
        ty = relax.TensorType(dtype=x.dtype or "", ndim=x.ndim)
    else:
        kind = 2
        dims = [s.fresh_dim(x.shape[0]), *x.shape[1:]]
        ty = relax.TensorType(relax.ShapeExpr(dims), x.dtype or "")
    cast = s.match_cast(x.expr, ty)
    if kind == 2 and c.flag():
        _use_of_size(c, s, cast)


def _cast_type(c: Choices, s: Scope, ty: relax.Type) -> relax.Type:
    """A type to cast to, with fresh variables for some dims, also in fields of tuples."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([_cast_type(c, s, field) for field in ty.fields])
    if not isinstance(ty, relax.TensorType) or ty.ndim < 0 or c.flag(0.3):
        return ty
    known = dims_of(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) else (None,) * ty.ndim
    dims = fresh_dims(c, s, known, 0.5)
    return relax.TensorType(relax.ShapeExpr(dims), ty.dtype, ty.vdevice)


def _use_of_size(c: Choices, s: Scope, cast: relax.Var) -> None:
    """A use of the size that a match_cast defines; its value mostly stays unused."""
    size, *rest = cast.ty.shape.values
    dtype = str(cast.ty.dtype)
    kind = c.below(4)
    # A 0 in the new shape would mean the dim of the old one.
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
