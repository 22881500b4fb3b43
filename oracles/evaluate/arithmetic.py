"""Symbolic arithmetic: primitive expressions over Python numbers, rounded to their dtypes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tvm import tirx
from tvm.ir import Call

from ...compat import ir
from ...generators.ops.undefined import Behaviour
from ..dtypes import dtype_of
from ..errors import Undefined, Unsupported
from .frame import Frame


def rounded(value: Any, dtype: str) -> int | float:
    """The number as its dtype holds it: integers wrap around, floats are rounded."""
    if dtype == "bool":
        return bool(value)
    kind = dtype_of(dtype)
    if kind.kind in "iu":
        bits = 8 * kind.itemsize
        whole = int(value) & ((1 << bits) - 1)
        return whole - (1 << bits) if kind.kind == "i" and whole >> (bits - 1) else whole
    return float(value) if dtype == "float64" else float(kind.type(value))


def _result(expr: Any, value: Any) -> int | float:
    dtype = str(expr.ty.dtype)
    if dtype == "int64" and -(1 << 63) <= value < 1 << 63:
        return int(value)
    return rounded(value, dtype)


def _binary(operation: Callable[[Any, Any], Any]) -> Callable[[Frame, Any], int | float]:
    def visit(frame: Frame, expr: Any) -> int | float:
        return _result(expr, operation(frame.value(expr.a), frame.value(expr.b)))

    return visit


def _division(operation: Callable[[Any, Any], Any]) -> Callable[[Frame, Any], int | float]:
    def visit(frame: Frame, expr: Any) -> int | float:
        a, b = frame.value(expr.a), frame.value(expr.b)
        if b == 0:
            raise Undefined(f"{Behaviour.DIVISION}: {expr}")
        return _result(expr, operation(a, b))

    return visit


def _shift(operation: Callable[[int, int], int]) -> Callable[[Frame, Any], int | float]:
    def visit(frame: Frame, expr: Any) -> int | float:
        a, b = frame.value(expr.a), frame.value(expr.b)
        if not 0 <= b < 8 * dtype_of(str(expr.ty.dtype)).itemsize:
            raise Undefined(f"{Behaviour.SHIFT}: {b}: {expr}")
        return _result(expr, operation(a, b))

    return visit


def _truncated(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return math.fmod(a, b)
    return a - b * _truncated(a, b)


def _cast(frame: Frame, expr: ir.Cast) -> int | float:
    value = frame.value(expr.value)
    dtype = str(expr.ty.dtype)
    if isinstance(value, float) and "int" in dtype:
        if not math.isfinite(value):
            raise Undefined(f"{Behaviour.CONVERSION}: {value} to {dtype}")
        value = math.trunc(value)
        if rounded(value, dtype) != value:
            raise Undefined(f"{Behaviour.CONVERSION}: {value} to {dtype}")
    return rounded(value, dtype)


def _select(frame: Frame, expr: ir.Select) -> Any:
    return frame.value(expr.true_value if frame.value(expr.condition) else expr.false_value)


def _let(frame: Frame, expr: ir.Let) -> Any:
    frame.env[hash(expr.var)] = frame.value(expr.value)
    return frame.value(expr.body)


ARITHMETIC: Mapping[type, Callable[[Frame, Any], Any]] = {
    tirx.IntImm: lambda frame, expr: int(expr.value),
    tirx.FloatImm: lambda frame, expr: float(expr.value),
    ir.Add: _binary(operator.add),
    ir.Sub: _binary(operator.sub),
    ir.Mul: _binary(operator.mul),
    ir.Div: _division(_truncated),
    ir.Mod: _division(_remainder),
    ir.FloorDiv: _division(operator.floordiv),
    ir.FloorMod: _division(operator.mod),
    ir.Min: _binary(min),
    ir.Max: _binary(max),
    ir.EQ: _binary(operator.eq),
    ir.NE: _binary(operator.ne),
    ir.LT: _binary(operator.lt),
    ir.LE: _binary(operator.le),
    ir.GT: _binary(operator.gt),
    ir.GE: _binary(operator.ge),
    ir.And: lambda frame, expr: bool(frame.value(expr.a) and frame.value(expr.b)),
    ir.Or: lambda frame, expr: bool(frame.value(expr.a) or frame.value(expr.b)),
    ir.Not: lambda frame, expr: not frame.value(expr.a),
    ir.BitwiseAnd: _binary(operator.and_),
    ir.BitwiseOr: _binary(operator.or_),
    ir.BitwiseXor: _binary(operator.xor),
    ir.BitwiseNot: lambda frame, expr: _result(expr, ~frame.value(expr.a)),
    ir.LShift: _shift(operator.lshift),
    ir.RShift: _shift(operator.rshift),
    ir.Cast: _cast,
    ir.Select: _select,
    ir.Let: _let,
}


PRIMITIVE = ("prim.", "tirx.")
"""The prefixes of the names of intrinsics."""


def intrinsic(frame: Frame, expr: Call, name: str) -> Any:
    """The value of a primitive call: `prim.exp(x)`, `tirx.exp(x)`.

    Raises:
        Unsupported: an intrinsic that has no value outside of TensorIR, or is not known.
    """
    short = name.split(".", 1)[1]
    if short == "if_then_else":
        condition, yes, no = expr.args
        return frame.value(yes if frame.value(condition) else no)
    function = _INTRINSICS.get(short)
    if short in ir.BITWISE:
        operands = ir.Operands(expr.args[0], expr.args[-1], expr.ty)
        return ARITHMETIC[ir.BITWISE[short]](frame, operands)
    if function is None:
        raise Unsupported(f"intrinsic {name}")
    try:
        return _result(expr, function(*map(frame.value, expr.args)))
    except (ValueError, OverflowError) as error:
        raise Undefined(f"an intrinsic without a value: {expr}: {error}") from error


_MATH = """
exp log log2 log10 log1p sqrt sin cos tan tanh erf fmod floor ceil trunc isnan isinf isfinite
"""

_INTRINSICS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _MATH.split()},
    "likely": lambda x: x,
    "fabs": abs,
    "exp2": lambda x: 2.0**x,
    "exp10": lambda x: 10.0**x,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "pow": operator.pow,
    "round": round,
    "nearbyint": round,
    "popcount": lambda x: x.bit_count(),
}
