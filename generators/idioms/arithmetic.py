"""Chains of elementwise operators, reductions, casts and common subexpressions."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ...compat.ops import existing, relax_op
from .. import tensorir
from ..choices import Choices
from ..ops.operands import nonempty
from ..ops.record import FLOATS
from ..scope import Scope, Value
from ..traits import Trait


def reductions(c: Choices, s: Scope) -> None:
    """A reduction of a reduction."""
    x = s.tensor(c, dtype=FLOATS, ndim=(3, 2), where=nonempty, fresh_shape=(2, 3)).expr
    op = c.pick(existing(relax_op.sum, relax_op.mean, relax_op.max))
    keep = c.flag(0.3)
    for axis in (c.pick((-1, 0)), 0):
        x = s.emit(op(x, [axis], keep)).expr


def _elementwise(c: Choices, s: Scope, x: Value) -> Value:
    """An operator on one value, or sometimes a kernel, where the module has such calls."""
    if s.has(Trait.CALL_TIR) and x.shape and c.flag(0.4):
        template = c.pick(tensorir.TEMPLATES[:2])
        gvar = s.module.add(template.name, tensorir.prim_func(template, x.shape, x.dtype or ""))
        return s.emit(relax.call_tir(gvar, (x.expr,), x.expr.ty))
    return s.emit(c.pick(_UNARY)(x.expr))


def fields_apart(c: Choices, s: Scope) -> None:
    """A tuple of results whose fields are used one by one, with something between."""
    x = s.tensor(c, dtype=FLOATS).expr
    fields = [s.emit(c.pick(_UNARY)(x)).expr for _ in range(2)]
    both = s.bind(relax.Tuple(fields))
    first = s.emit(relax.TupleGetItem(both, c.below(2))).expr
    between = s.emit(c.pick(_UNARY)(first)).expr
    s.emit(c.pick(_BINARY)(between, s.emit(relax.TupleGetItem(both, 1)).expr))


def common_subexpressions(c: Choices, s: Scope) -> None:
    """The same call twice, and their sum."""
    x = s.tensor(c, dtype=FLOATS)
    op = c.pick(existing(relax_op.exp, *_UNARY))
    y, z = (s.emit(op(x.expr)).expr for _ in range(2))
    s.emit(relax_op.add(y, z))


_UNARY: tuple[Callable[[relax.Expr], relax.Expr], ...] = existing(
    relax_op.nn.relu,
    relax_op.negative,
    relax_op.abs,
    relax_op.square,
    relax_op.sigmoid,
    relax_op.tanh,
    relax_op.floor,
    relax_op.ceil,
)
"""Elementwise operators of any float."""


_BINARY: tuple[Callable[[relax.Expr, relax.Expr], relax.Expr], ...] = existing(
    relax_op.add,
    relax_op.multiply,
    relax_op.subtract,
    relax_op.maximum,
    relax_op.minimum,
)


_SCALING = existing(relax_op.multiply, relax_op.add, relax_op.multiply, relax_op.subtract)
_MATH = existing(relax_op.exp, relax_op.erf, relax_op.tanh, relax_op.nn.softmax)


def chain(c: Choices, s: Scope) -> None:
    """Two to four elementwise operators, each on the result of the one before."""
    x = s.tensor(c, dtype=FLOATS, complete=True).expr
    first = x
    for _ in range(2 + c.below(3)):
        if c.flag(0.3):
            x = s.emit(c.pick(_BINARY)(x, first)).expr
        else:
            x = s.emit(c.pick(_UNARY)(x)).expr


def casts(c: Choices, s: Scope) -> None:
    """Two or three casts of integers, one after another."""
    x = s.tensor(c, dtype=("int32", "int64", "int8", "uint8")).expr
    for _ in range(2 + c.below(2)):
        x = s.emit(relax_op.astype(x, c.pick(("int64", "int32", "int8", "uint8", "float32")))).expr
        if str(x.ty.dtype) == "float32":
            break  # what it holds may be too large for the next type


def scaled(c: Choices, s: Scope) -> None:
    """Arithmetic of one value with scalars, neutral ones among them, twice the same at times."""
    x = s.tensor(c, dtype=("float32", "float16", "float64", "int32", "int64"))
    y, z = x.expr, x.expr
    op = c.pick(_SCALING)
    scalar = relax.const(c.pick((2, 1, 2, 0, -1)), x.dtype)
    y = s.emit(op(y, scalar)).expr
    if c.flag():
        other = relax.const(c.pick((2, 1, 0, -1)), x.dtype)
        y = s.emit(c.pick(_BINARY)(y, other)).expr
    if c.flag():
        z = s.emit(op(x.expr, scalar)).expr
    s.emit(relax_op.add(y, z))


def bounded(c: Choices, s: Scope) -> None:
    """A maximum and a minimum by scalars, in either order."""
    x = s.tensor(c, dtype=("float32", "float16", "int32"))
    low, high = (relax.const(value, x.dtype) for value in c.pick(((0, 6), (-1, 1), (0, 0))))
    first, second = (relax_op.maximum, low), (relax_op.minimum, high)
    for op, bound in (second, first) if c.flag() else (first, second):
        x = s.emit(op(x.expr, bound))


def constant_expression(c: Choices, s: Scope) -> None:
    """One or two operators over constants only."""
    dtype = c.pick(("float32", "int32", "int8", "float64"))
    a = s.constant(c, (2, 3), dtype).expr
    b = s.constant(c, c.pick(((2, 3), (3,), ())), dtype, low=c.pick((-3, 1))).expr
    folded = s.emit(c.pick(_BINARY)(a, b)).expr
    kind = c.below(5)
    if kind == 1:
        folded = s.emit(relax_op.negative(folded)).expr
    elif kind == 2:
        folded = s.emit(relax_op.divide(folded, s.constant(c, (), dtype, low=2, high=3).expr)).expr
    elif kind == 3:
        folded = s.emit(c.pick(_BINARY)(folded, b)).expr
    elif kind == 4:
        # What does not fit wraps around among integers; of floats, all of it fits.
        to = ("uint8", "int64", "int8") if dtype.startswith("int") else ("float64", "float32")
        s.emit(relax_op.astype(a, c.pick(to)))
    s.emit(relax_op.multiply(folded, s.tensor(c, dtype=dtype, shape=(2, 3)).expr))


def elementwise_math(c: Choices, s: Scope) -> None:
    """exp, erf, tanh, softmax one after another."""
    x = s.tensor(c, dtype="float32", ndim=(2, 1, 3)).expr
    for op in c.subset(_MATH, 0.6):
        x = s.emit(op(x)).expr


def reduced(c: Choices, s: Scope) -> None:
    """Normalisation by hand: x - mean(x), over sqrt(var)."""
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 3))
    mean = s.emit(relax_op.mean(x.expr, axis=-1, keepdims=True)).expr
    centred = s.emit(relax_op.subtract(x.expr, mean)).expr
    var = s.emit(relax_op.variance(x.expr, axis=-1, keepdims=True)).expr
    if c.flag():
        s.emit(relax_op.divide(centred, s.emit(relax_op.sqrt(var)).expr))
