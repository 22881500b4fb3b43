"""Expressions of generated PrimFuncs: loads inside of buffers, and computations on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
from tvm import tirx

from ...compat import ir
from ..choices import Choices
from ..values import Dim, same_dim

FLOATS = ("float32", "float16", "float64", "bfloat16")
FLOATS8 = ("float8_e4m3fn", "float8_e5m2")
"""Float dtypes without arithmetic."""
INTEGERS = ("int32", "int8", "uint8", "int64", "int16", "uint32")

Expr: TypeAlias = Any
"""A `tvm.ir.Expr`, whose Python operators build further expressions."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A variable that runs from 0 to below an extent."""

    var: Expr
    extent: Dim


def const(value: float, dtype: str) -> Expr:
    """A constant of any dtype; in a vector, the same in each lane."""
    if dtype == "bool":
        return tirx.const(bool(value), dtype)
    if dtype in FLOATS8:
        return ir.Cast(dtype, tirx.const(value, "float32"))
    scalar, lanes = scalar_of(dtype), lanes_of(dtype)
    made = tirx.const(value if scalar in FLOATS else int(value), scalar)
    return ir.Broadcast(made, lanes) if lanes > 1 else made


def scalar_of(dtype: str) -> str:
    """The dtype of the scalars of a vector; a scalar dtype itself."""
    return dtype.partition("x")[0]


def lanes_of(dtype: str) -> int:
    """The number of scalars in a value of a dtype."""
    return int(dtype.partition("x")[2] or 1)


def bits_of(dtype: str) -> int:
    """The width of an integer type."""
    return int(dtype.removeprefix("u").removeprefix("int"))


def ends_of(dtype: str) -> tuple[int, ...]:
    """Numbers near both ends of an integer type's range."""
    half = 1 << bits_of(dtype) - 1
    if dtype.startswith("u"):
        return 2 * half - 1, half, half - 1, 2 * half - 4
    return half - 1, -half, half // 2, half - 4


class ExpressionGenerator:
    """Expressions that one statement may compute, decided by the choices.

    Every index lies inside of its buffer for all values of the axes.
    """

    def __init__(
        self,
        choices: Choices,
        index: str,
        buffers: Sequence[tirx.Buffer],
        axes: Sequence[Axis],
        scalars: Sequence[tirx.Var] = (),
    ) -> None:
        """
        Args:
            index: the dtype of indices.
            buffers: buffers to read; the last is the simplest choice.
            scalars: parameters and bound variables that are not indices.
        """
        self.choices = choices
        self._index = index
        # An empty buffer can only be read by code that does not run.
        runs = all(axis.extent != 0 for axis in axes if isinstance(axis.extent, int))
        self._buffers = [b for b in buffers[::-1] if not runs or not _is_empty(b)]
        self.axes = axes
        self.scalars = list(scalars)

    def value(self, dtype: str, depth: int = 2) -> Expr:
        """A value of the dtype."""
        if not depth:
            return self.leaf(dtype)
        if dtype == "bool":
            return self.condition(depth)
        if dtype in FLOATS8:
            return self.cast(self.value("float32", depth), dtype)
        if dtype in FLOATS:
            return self.choices.pick(_FLOATING)(self, dtype, depth - 1)
        return self.choices.pick(_INTEGRAL)(self, dtype, depth - 1)

    def leaf(self, dtype: str) -> Expr:
        """An element, a number, or a variable."""
        c = self.choices
        match c.pick(("load", "load", "load", "number", "variable")):
            case "number":
                return const(c.pick((1, 2, 3, 0)), dtype)
            case "variable" if self.scalars or self.axes:
                return self.cast(c.pick([*self.scalars, *(axis.var for axis in self.axes)]), dtype)
            case _ if self._buffers:
                return self.cast(self.load(c.pick(self._buffers)), dtype)
        return const(1, dtype)

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """The value in another dtype; a number becomes true if it is above 0."""
        own = str(expr.ty.dtype)
        if own == dtype:
            return expr
        if dtype == "bool":
            return expr > const(0, own)
        return ir.Cast(dtype, expr)

    def load(self, buffer: tirx.Buffer) -> Expr:
        """An element at indices that lie inside."""
        return buffer[tuple(self.index(dim, at) for at, dim in enumerate(buffer.ty.shape))]

    def index(self, dim: Expr, at: int) -> Expr:
        """An index into a dimension, made from the axes if possible.

        Args:
            at: the number of the dimension; the simplest index is the axis of that number.
        """
        c = self.choices
        extent: Dim = int(dim.value) if isinstance(dim, tirx.IntImm) else dim
        fitting = [axis.var for axis in self.axes if same_dim(axis.extent, extent)]
        if len(self.axes) > at and same_dim(self.axes[at].extent, extent):
            fitting.insert(0, self.axes[at].var)
        size = self._number(extent)
        if fitting:
            var = c.pick(fitting)
            if extent == 0:
                return var
            match c.pick(("same",) * 9 + ("reversed", "shifted", "halved", "kept")):
                case "reversed":
                    return size - self._number(1) - var
                case "shifted":
                    return tirx.floormod(var + self._number(1 + c.below(3)), size)
                case "halved":
                    return tirx.floordiv(var, self._number(2))
                case "kept":
                    return tirx.min(var + self._number(1), size - self._number(1))
            return var
        if not self.axes or extent == 0 or c.flag(0.2):
            # A dimension of symbolic size is only sure to have its first element.
            last = extent if isinstance(extent, int) else 1
            return self._number(c.below(min(last, 8)) if last else 0)
        combine = c.pick((tirx.floormod, tirx.floormod, _clipped, tirx.truncmod))
        return combine(self._linear(), size)

    def _linear(self) -> Expr:
        """The variable of an axis, or a multiple of it plus another, as for fused axes."""
        c = self.choices
        axis = c.pick(self.axes)
        if not c.flag(0.2):
            return axis.var
        return axis.var * self._number(2 + c.below(3)) + c.pick(self.axes).var

    def condition(self, depth: int = 1) -> Expr:
        """A truth value."""
        c = self.choices
        if depth > 1:
            match c.pick(("compare", "compare", "and", "or", "not")):
                case "and":
                    return ir.And(self.condition(), self.condition())
                case "or":
                    return ir.Or(self.condition(), self.condition())
                case "not":
                    return ir.Not(self.condition())
        if self.axes and c.flag(0.6):
            found = c.pick(COMPARED)(*self._bounded())
            return tirx.likely(found) if c.flag(0.2) else found
        dtype = str(self._buffers[0].ty.dtype) if self._buffers else "int32"
        if dtype == "bool":
            return self.leaf("bool")
        return c.pick(COMPARED)(self.leaf(dtype), self.leaf(dtype))

    def _bounded(self) -> tuple[Expr, Expr]:
        """An expression of the axes, and a bound that is mostly inside its range."""
        c = self.choices
        if c.flag(0.2):
            return self._linear(), self._number(c.below(12))
        axis = c.pick(self.axes)
        size = self._number(axis.extent)
        return axis.var, c.pick((size - self._number(1), tirx.floordiv(size, self._number(2))))

    def constant_condition(self) -> Expr:
        """A truth value that is the same for all axes, if a scalar is given."""
        c = self.choices
        if not self.scalars:
            return self.condition()
        scalar = c.pick(self.scalars)
        return c.pick(COMPARED)(scalar, const(c.pick((2, 0)), str(scalar.ty.dtype)))

    def _number(self, extent: Dim) -> Expr:
        if isinstance(extent, int):
            return tirx.IntImm(self._index, extent)
        return extent


def _is_empty(buffer: tirx.Buffer) -> bool:
    return any(isinstance(dim, tirx.IntImm) and dim.value == 0 for dim in buffer.ty.shape)


def _clipped(var: Expr, size: Expr) -> Expr:
    return tirx.min(var, size - tirx.IntImm(str(size.ty.dtype), 1))


COMPARED: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda a, b: a < b,
    lambda a, b: a >= b,
    lambda a, b: ir.EQ(a, b),
    lambda a, b: ir.NE(a, b),
    lambda a, b: a <= b,
    lambda a, b: a > b,
)
"""The six comparisons."""

Operation = Callable[[ExpressionGenerator, str, int], Expr]


def _binary(combine: Callable[[Expr, Expr], Expr]) -> Operation:
    return lambda e, dtype, depth: combine(e.value(dtype, depth), e.leaf(dtype))


def _by(combine: Callable[[Expr, Expr], Expr], *numbers: int) -> Operation:
    """An operation with one of these constants, for which it is defined."""
    return lambda e, dtype, depth: combine(
        e.value(dtype, depth), const(e.choices.pick(numbers), dtype)
    )


def _unary(apply: Callable[[Expr], Expr]) -> Operation:
    def operation(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
        # Functions that a dtype lacks are computed in float32.
        inside = "float32" if dtype in ("bfloat16", "float16") else dtype
        return e.cast(apply(e.value(inside, depth)), dtype)

    return operation


def _leaf(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    return e.leaf(dtype)


def _chosen(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A choice of two values: `if_then_else` evaluates one side only, Select may evaluate both."""
    choose = e.choices.pick((tirx.if_then_else, ir.Select))
    return choose(e.condition(), e.value(dtype, depth), e.leaf(dtype))


def _let(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    var = tirx.Var("t", dtype)
    return ir.Let(var, e.value(dtype, depth), var + e.leaf(dtype))


def _cast(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    other = e.choices.pick([each for each in (*FLOATS[:3], *INTEGERS[:4]) if each != dtype])
    return e.cast(e.value(other, depth), dtype)


def _widened(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A sum or product in a wider dtype than its operands have, as in sums of products; rarely it
    is computed before it is widened."""
    inside = NARROWER.get(dtype, dtype)
    if e.choices.flag(0.3):
        a, b = e.value(inside, depth), e.leaf(inside)
        return e.cast(a + b if e.choices.flag() else a * b, dtype)
    a, b = e.cast(e.value(inside, depth), dtype), e.cast(e.leaf(inside), dtype)
    return a + b if e.choices.flag() else a * b


NARROWER = {
    "int64": "int32",
    "int32": "int8",
    "int16": "int8",
    "float64": "float32",
    "float32": "float16",
}
"""Dtypes of operands for sums and products in a wider dtype, by the wider one."""

WIDER = {
    **dict.fromkeys(("int8", "uint8", "int16"), "int32"),
    **dict.fromkeys(("int32", "uint32"), "int64"),
    "float16": "float32",
}
"""Dtypes in which a value of a narrower one is computed before it is clipped."""


def _quotient(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A division by a number that may be 0, under a guard: only the chosen side is evaluated."""
    numbers = [each for each in e.scalars if str(each.ty.dtype) in ("int32", "int64")]
    if not numbers:
        return e.leaf(dtype)
    by = e.choices.pick(numbers)
    own = str(by.ty.dtype)
    by = by - const(e.choices.pick((2, 1, 3)), own)
    of = e.cast(e.choices.pick([*(axis.var for axis in e.axes), *numbers]), own)
    guard = ir.NE(by, const(0, own))
    one = tirx.if_then_else(guard, tirx.floordiv(of, by), const(1, own))
    if e.choices.flag():
        return e.cast(one, dtype)
    return e.cast(one + tirx.if_then_else(guard, tirx.floordiv(of, by), const(2, own)), dtype)


def _negative(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A quotient or a remainder by a number below 0."""
    value = e.value(dtype, depth)
    if dtype.startswith("u"):
        return value
    if e.choices.flag():
        value = tirx.floormod(value, const(6, dtype))
    divide = e.choices.pick((tirx.floordiv, tirx.truncdiv, tirx.floormod, tirx.truncmod))
    return divide(value, const(e.choices.pick((-2, -3)), dtype))


def _of_clipped(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A quotient or a remainder of a value that is bounded on one side only."""
    clip, limit = e.choices.pick(((tirx.max, -3), (tirx.min, 3), (tirx.max, -100), (tirx.max, 0)))
    limit = abs(limit) if dtype.startswith("u") else limit
    divide = e.choices.pick((tirx.floordiv, tirx.floormod, tirx.truncdiv, tirx.truncmod))
    clipped = clip(e.value(dtype, depth), const(limit, dtype))
    return divide(clipped, const(e.choices.pick((3, 2, 5)), dtype))


def _saturated(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A value clipped to the range of its dtype. If a wider dtype exists, the value is computed and
    scaled in it, as in requantization."""
    c = e.choices
    wide = WIDER.get(dtype, dtype)
    value = e.value(wide, depth)
    if dtype in FLOATS:
        most = float(ml_dtypes.finfo(dtype).max)
        low, high = const(-most, wide), const(most, wide)
    else:
        if wide != dtype:
            bits = c.pick((1, 4, 2))
            value = (value + const(1 << bits - 1, wide)) >> const(bits, wide)
        last, first, *_ = ends_of(dtype)
        low = const(0 if dtype.startswith("u") else first, wide)
        high = const(last - c.pick((0, 0, 1)), wide)
    value = tirx.min(value, high)
    one_end = wide == dtype and c.flag(0.3)
    return e.cast(value if one_end else tirx.max(value, low), dtype)


def _difference(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A difference; for unsigned numbers the xor, since a difference below 0 has no meaning."""
    a, b = e.value(dtype, depth), e.leaf(dtype)
    return tirx.bitwise_xor(a, b) if dtype.startswith("u") else a - b


def _external(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A call of a C function that is linked with the compiled code."""
    inside = dtype if dtype == "float64" else "float32"
    name, count = e.choices.pick(OF_C)
    operands = [e.value(inside, depth), *(e.leaf(inside) for _ in range(count - 1))]
    kind = e.choices.pick(("tirx.call_pure_extern",) * 3 + ("tirx.call_extern",))
    symbol = ir.StringImm(name if inside == "float64" else f"{name}f")
    return e.cast(tirx.call_intrin(inside, kind, symbol, *operands), dtype)


OF_C = (
    ("fabs", 1),
    ("fma", 3),
    ("fmax", 2),
    ("floor", 1),
    ("copysign", 2),
    ("fmin", 2),
    ("trunc", 1),
    ("hypot", 2),
)
"""Functions of `math.h`, with their numbers of operands; the versions for float end in "f"."""

SHARED: tuple[Operation, ...] = (
    _leaf,
    _binary(lambda a, b: a + b),
    _binary(lambda a, b: a * b),
    _difference,
    _binary(tirx.max),
    _binary(tirx.min),
    _chosen,
    _let,
    _cast,
    _widened,
)
"""Operations on all numbers."""

_FLOATING: tuple[Operation, ...] = (
    *SHARED,
    _by(lambda a, b: tirx.div(a, b), 2, 4),
    _unary(tirx.exp),
    _unary(tirx.tanh),
    _unary(lambda a: tirx.sqrt(tirx.abs(a))),
    _unary(tirx.sigmoid),
    _unary(tirx.floor),
    _external,
    _saturated,
)

_INTEGRAL: tuple[Operation, ...] = (
    *SHARED,
    _by(tirx.floordiv, 2, 3),
    _by(tirx.floormod, 2, 5),
    _by(tirx.truncdiv, 2, 3),
    _by(tirx.truncmod, 4, 3),
    _by(tirx.bitwise_and, 3, 1),
    _by(lambda a, b: a >> b, 1, 2),
    _binary(tirx.bitwise_xor),
    _quotient,
    _saturated,
    _negative,
    _of_clipped,
    _of_clipped,
)
