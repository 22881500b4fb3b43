"""Elementwise operators of two or three operands: arithmetic, comparison, logic, bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Value
from . import accepts, laws, undefined
from .operands import broadcast_shape, build_binary, in_single, ints, quiet, scalar
from .record import BRAIN, FLOATS, INTEGERS, NUMBERS, SIGNED, WIDE, Op
from .variation import RARE

__all__ = ["OPS"]


def _maximum(x: Any, y: Any) -> Any:
    """With a NaN on either side, the second operand (TVM: `x > y ? x : y`)."""
    return np.where(x > y, x, y)


def _minimum(x: Any, y: Any) -> Any:
    return np.where(x < y, x, y)


class BinaryOp(NamedTuple):
    """One operator of the family: operands of one dtype that broadcast."""

    name: str
    reference: Callable[[Any, Any], Any]
    dtypes: tuple[str, ...] = (*NUMBERS, *BRAIN)
    nonfinite: bool = True
    rule: undefined.UndefinedRule | None = None
    arithmetic: tuple[int, ...] = ()
    commutes: bool = False
    kinds: str = ""


ROWS = (
    BinaryOp("add", np.add, arithmetic=(0, 1), commutes=True),
    BinaryOp("multiply", np.multiply, arithmetic=(0, 1), commutes=True),
    BinaryOp("subtract", np.subtract, arithmetic=(0, 1)),
    BinaryOp("maximum", _maximum, nonfinite=False, commutes=True),
    BinaryOp("minimum", _minimum, nonfinite=False, commutes=True),
    BinaryOp("power", np.power, FLOATS, rule=undefined.pole),
    BinaryOp("atan2", np.arctan2, (*WIDE, *BRAIN), rule=undefined.angle_of_signed_zero),
    BinaryOp("log_add_exp", np.logaddexp, FLOATS, nonfinite=False, commutes=True),
    BinaryOp("equal", np.equal, commutes=True, kinds="b"),
    BinaryOp("not_equal", np.not_equal, commutes=True, kinds="b"),
    BinaryOp("less", np.less),
    BinaryOp("less_equal", np.less_equal),
    BinaryOp("greater", np.greater),
    BinaryOp("greater_equal", np.greater_equal),
    BinaryOp("logical_and", np.logical_and, ("bool",), commutes=True),
    BinaryOp("logical_or", np.logical_or, ("bool",), commutes=True),
    BinaryOp("logical_xor", np.logical_xor, ("bool",), commutes=True),
    BinaryOp("bitwise_and", np.bitwise_and, (*INTEGERS, "bool"), commutes=True),
    BinaryOp("bitwise_or", np.bitwise_or, (*INTEGERS, "bool"), commutes=True),
    BinaryOp("bitwise_xor", np.bitwise_xor, (*INTEGERS, "bool"), commutes=True),
)


def _op(row: BinaryOp) -> Op:
    return Op(
        name=row.name,
        build=build_binary(getattr(relax_op, row.name), row.dtypes),
        reference=quiet(in_single(lambda args, attrs: row.reference(args[0], args[1]))),
        dtypes=row.dtypes,
        kinds=row.kinds,
        nonfinite=row.nonfinite,
        elementwise=True,
        numbers=True,
        undefined=undefined.any_of(undefined.two_dtypes, row.rule),
        arithmetic=row.arithmetic,
        laws=(laws.COMMUTATIVE,) if row.commutes else (),
    )


def _divisor(c: Choices, s: Scope, x: Value) -> Value:
    """An operand that broadcasts with x: a constant, or max(y, 1); rarely, the number 0."""
    assert x.shape is not None
    assert x.dtype is not None
    if c.flag(RARE):
        return s.constant(c, (), x.dtype, low=0, high=0)
    shape = broadcast_shape(c, x.shape)
    if c.flag(0.3):
        y = s.tensor(c, dtype=x.dtype, shape=shape)
        return s.emit(relax_op.maximum(y.expr, scalar(1, x.dtype)))
    if len(ints(shape)) < len(shape):
        shape = ()
    if x.dtype in SIGNED and c.flag(0.2):
        return s.constant(c, ints(shape), x.dtype, low=-3, high=-2)
    return s.constant(c, ints(shape), x.dtype, low=1, high=3)


def _division(
    name: str,
    reference: Callable[[Any, Any], Any],
    dtypes: tuple[str, ...] = (*NUMBERS, *BRAIN),
    *,
    nonfinite: bool = False,
) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=dtypes)
        return call(x.expr, _divisor(c, s, x).expr)

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        # The quotient is computed in float16 for float16, but in float32 for bfloat16.
        if args[0].dtype.name in BRAIN:
            return in_single(quotient)(args, attrs)
        return quotient(args, attrs)

    def quotient(args: Sequence[Any], attrs: Any) -> Any:
        return reference(args[0], args[1])

    return Op(
        name=name,
        build=build,
        reference=quiet(evaluate),
        dtypes=dtypes,
        nonfinite=nonfinite,
        elementwise=True,
        numbers=True,
        undefined=undefined.any_of(undefined.two_dtypes, undefined.division),
        accepts=accepts.divisor,
        laws=() if nonfinite else (laws.KEEPS_NAN,),
    )


def _divide(x: Any, y: Any) -> Any:
    """Integers are truncated towards zero and stay integers."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    return (x - np.fmod(x, y)) // y


def _floor_divide(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y) if x.dtype.kind in "iu" else np.floor(x / y)


def _floor_mod(x: Any, y: Any) -> Any:
    return np.mod(x, y) if x.dtype.kind in "iu" else x - np.floor(x / y) * y


def _shift(name: str, reference: Callable[[Any, Any], Any]) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=INTEGERS)
        assert x.shape is not None
        assert x.dtype is not None
        shape = broadcast_shape(c, x.shape)
        if len(ints(shape)) < len(shape):
            shape = (1,)
        # Shifts by the width or more are undefined; 3 is below any width.
        return call(x.expr, s.constant(c, ints(shape), x.dtype, low=0, high=3).expr)

    return Op(
        name=name,
        build=build,
        reference=lambda args, attrs: reference(args[0], args[1]),
        dtypes=INTEGERS,
        elementwise=True,
        numbers=True,
        undefined=undefined.any_of(undefined.two_dtypes, undefined.too_wide_shift),
        accepts=accepts.count,
    )


def _build_fma(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=FLOATS, complete=False)
    if x.shape is None or x.dtype is None:
        return relax_op.ewise_fma(x.expr, x.expr, x.expr)
    y, z = (s.tensor(c, dtype=x.dtype, shape=x.shape) for _ in range(2))
    return relax_op.ewise_fma(x.expr, y.expr, z.expr)


def _fma(args: Sequence[Any], attrs: Any) -> Any:
    return args[0] * args[1] + args[2]


OPS = (
    *map(_op, ROWS),
    _division("divide", _divide, nonfinite=True),
    _division("floor_divide", _floor_divide),
    _division("mod", np.fmod, NUMBERS),
    _division("floor_mod", _floor_mod),
    _shift("left_shift", np.left_shift),
    _shift("right_shift", np.right_shift),
    Op(
        name="ewise_fma",
        build=_build_fma,
        reference=quiet(in_single(_fma)),
        dtypes=FLOATS,
        legalizes=False,
        executes=False,
        elementwise=True,
    ),
)
