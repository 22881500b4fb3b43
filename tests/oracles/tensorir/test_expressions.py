"""Expressions of TensorIR: scalars, lanes and compiled code agree, dtype by dtype."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tvm import te, tirx
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.dtypes import dtype_of
from relaxfuzz.oracles.errors import Undefined, Unsupported
from relaxfuzz.oracles.tensorir import sanitize, translate
from relaxfuzz.oracles.tensorir.intrinsics import at, divisor, shift, truncdiv, truncmod
from relaxfuzz.oracles.tensorir.program import compiled
from relaxfuzz.oracles.tensorir.sanitizer.runtime import OVERFLOW
from relaxfuzz.oracles.tensorir.statements import Statements

from .native import assert_close, assert_same_bits, copies, run_native

Binary = Callable[[Any, Any], Any]

WHOLE: Mapping[str, Binary] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": tirx.min,
    "max": tirx.max,
    "truncdiv": lambda a, b: ir.Div(a, _nonzero(b)),
    "truncmod": lambda a, b: ir.Mod(a, _nonzero(b)),
    "floordiv": lambda a, b: ir.FloorDiv(a, _nonzero(b)),
    "floormod": lambda a, b: ir.FloorMod(a, _nonzero(b)),
    "floordiv_constant": lambda a, b: ir.FloorDiv(a, tirx.const(3, a.ty.dtype)),
    "truncdiv_constant": lambda a, b: ir.Div(a, tirx.const(3, a.ty.dtype)),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "invert": lambda a, b: ~a,
    "left": lambda a, b: a << (b & tirx.const(7, b.ty.dtype)),
    "right": lambda a, b: a >> (b & tirx.const(7, b.ty.dtype)),
    "compare": lambda a, b: ir.Select(a < b, a, ir.Select(b <= a, b, a)),
    "popcount": lambda a, b: tirx.popcount(a),
    "narrow": lambda a, b: a.astype("int8").astype(a.ty.dtype),
    "unsigned": lambda a, b: a.astype("uint8").astype(a.ty.dtype),
    "wide": lambda a, b: (a.astype("int64") * b.astype("int64")).astype(a.ty.dtype),
    "float": lambda a, b: a.astype("float32").astype(a.ty.dtype),
    "bool": lambda a, b: a.astype("bool").astype(a.ty.dtype),
    "let": lambda a, b: _named(a + b, lambda x: x * x - a),
    "logic": lambda a, b: tirx.if_then_else(
        tirx.any(tirx.all(a < b, a != _zero(a)), ir.Not(b > _zero(a))), a, b
    ),
}
"""Operations on integers: all wrap around; divisors are never zero, shifts within the width."""

FLOAT: Mapping[str, Binary] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": tirx.min,
    "max": tirx.max,
    "compare": lambda a, b: ir.Select(a < b, a, ir.Select(a != b, b, -a)),
    "constant": lambda a, b: a * tirx.const(0.1, a.ty.dtype) + tirx.const(1, a.ty.dtype),
    "constants": lambda a, b: tirx.if_then_else(a < b, _one(a), _zero(a)) * b,
    "half": lambda a, b: a.astype("float16").astype(a.ty.dtype),
    "brain": lambda a, b: a.astype("bfloat16").astype(a.ty.dtype),
    "double": lambda a, b: (a.astype("float64") * b.astype("float64")).astype(a.ty.dtype),
    "isnan": lambda a, b: tirx.isnan(a).astype(a.ty.dtype),
    "floor": lambda a, b: tirx.floor(a),
    "ceil": lambda a, b: tirx.ceil(a),
    "trunc": lambda a, b: tirx.trunc(a),
    "round": lambda a, b: tirx.round(a),
    "nearbyint": lambda a, b: tirx.nearbyint(a),
    "fabs": lambda a, b: tirx.abs(a),
}

SMOOTH: Mapping[str, Binary] = {
    **{
        name: functools.partial(lambda name, a, b: getattr(tirx, name)(a), name)
        for name in (
            *("exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "atanh", "erf", "sigmoid"),
        )
    },
    "acosh": lambda a, b: tirx.acosh(a + _one(a)),
    "pow": tirx.pow,
    "atan2": tirx.atan2,
    "fmod": tirx.fmod,
    "to_int": lambda a, b: (a * tirx.const(100, a.ty.dtype)).astype("int32").astype(a.ty.dtype),
    "to_uint8": lambda a, b: (a * tirx.const(100, a.ty.dtype)).astype("uint8").astype(a.ty.dtype),
}
"""Operations on floats between 0 and 1."""


def _named(value: Any, body: Callable[[Any], Any]) -> Any:
    var = tirx.Var("x", value.ty)
    return ir.Let(var, value, body(var))


def _zero(like: Any) -> Any:
    return tirx.const(0, like.ty.dtype)


def _one(like: Any) -> Any:
    return tirx.const(1, like.ty.dtype)


def _nonzero(b: Any) -> Any:
    """1 instead of 0, and of -1, for which the quotient may overflow."""
    return ir.Select(b * (b + _one(b)) == _zero(b), _one(b), b)


def elementwise(operation: Binary, dtype: str, size: int) -> tirx.PrimFunc:
    a, b = (te.placeholder((size,), dtype, name) for name in "AB")
    c = te.compute((size,), lambda i: operation(a(i), b(i)), "C")
    return te.create_prim_func([a, b, c])


def _integers(dtype: str) -> list[Any]:
    info = np.iinfo(dtype)
    # LLVM assumes that wider signed integers do not overflow; with these they do not.
    most = int(info.max) if info.bits < 32 or info.min == 0 else 1 << (info.bits // 2 - 2)
    values = [most, most - 1, 77, 5, 3, 2, 1, 0]
    if info.min < 0:
        values += [-1, -2, -3, -5, -78, -most]
    return values


def _floats(dtype: str) -> list[Any]:
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.49999997, 1e-3, float(info.max) / 4]
    return [*values, np.nan, np.inf, -np.inf]


def _cases() -> dict[str, tuple[tirx.PrimFunc, list[Any]]]:
    cases = {}
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        for name, operation in WHOLE.items():
            if dtype.startswith("u") and name == "float":
                continue
            cases[f"{name}_{dtype}"] = _case(operation, dtype, _integers(dtype))
    for dtype in ("float16", "float32", "float64", "bfloat16"):
        for name, operation in FLOAT.items():
            if dtype != "bfloat16" or name not in NO_BRAIN:
                cases[f"{name}_{dtype}"] = _case(operation, dtype, _floats(dtype))
    for dtype in ("float16", "float32", "float64"):
        for name, operation in SMOOTH.items():
            if (dtype, name) not in NO_CODE:
                cases[f"{name}_{dtype}"] = _case(operation, dtype, [0.07, 0.25, 0.5, 0.93])
    return cases


def _case(operation: Binary, dtype: str, values: list[Any]) -> tuple[tirx.PrimFunc, list[Any]]:
    """All pairs of the values."""
    np_dtype = dtype_of(dtype)
    with np.errstate(all="ignore"):
        a, b = (np.array(x).ravel().astype(np_dtype) for x in np.meshgrid(values, values))
    return elementwise(operation, dtype, a.size), [a, b, np.zeros(a.size, np_dtype)]


NO_BRAIN = ("isnan",)
"""Not defined for bfloat16."""

NO_CODE = {
    *(("float16", name) for name in ("sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh")),
    *(("float16", name) for name in ("erf", "atan2", "fmod")),
    *((dtype, "fmod") for dtype in ("float32", "float64")),
}
"""What LLVM code cannot call here."""


def test_scalars_lanes_and_compiled_code_agree() -> None:
    cases = _cases()
    native = run_native(
        {name: func for name, (func, _) in cases.items()},
        {name: args for name, (_, args) in cases.items()},
    )
    for name, (func, args) in cases.items():
        program = translate(func)
        assert "range(" not in program.text, name
        lanes, scalars = copies(args), copies(args)
        program(*lanes)
        with np.errstate(all="ignore"):
            compiled(Statements().function(func))(10**6, *scalars)
        assert_same_bits(scalars, lanes, name)
        if name.startswith("brain"):
            # Compiled code rounds to bfloat16 only what it stores.
            with np.errstate(over="ignore"):
                lanes, native[name] = (
                    [array.astype("bfloat16") for array in arrays]
                    for arrays in (lanes, native[name])
                )
        assert_close(native[name], lanes, name)


def test_arithmetic_that_is_undefined() -> None:
    zero, wide = np.array([2, 0], "int32"), np.array([3, 32], "int32")
    with pytest.raises(Undefined, match="by zero"):
        divisor(zero)
    np.testing.assert_array_equal(divisor(zero, np.array([True, False])), [2, 1])
    with pytest.raises(Undefined, match="of 32 bits by 32"):
        shift(wide, 32)
    np.testing.assert_array_equal(shift(wide, 32, np.array([True, False])), [3, 0])
    with pytest.raises(Undefined, match="by 32"):
        shift(32, 32, np.array([True, False]))
    with pytest.raises(Undefined, match="-1 of a dimension of 3"):
        at(-1, 3)
    with pytest.raises(Undefined, match="3 of a dimension of 3"):
        at(np.array([0, 3]), 3)
    np.testing.assert_array_equal(at(np.array([0, 9]), 3, np.array([True, False])), [0, 2])


def test_division_towards_zero() -> None:
    for a, b in itertools.product(range(-7, 8), (-3, -2, -1, 1, 2, 3)):
        assert truncdiv(a, b) == int(a / b)
        assert truncmod(a, b) == np.fmod(a, b)


def of_fixed_point(y: int, bits: int, shift: int = 0) -> tirx.PrimFunc:
    last = [tirx.const(number, "int32") for number in (y, bits, shift)]
    return elementwise(lambda a, b: tirx.q_multiply_shift(a, *last), "int32", 5)


@pytest.mark.parametrize(("y", "bits"), [(1 << 30, 31), (3 << 28, 31), (-(3 << 28), 31), (5, 3)])
def test_products_of_fixed_point_numbers_are_rounded_half_up(y: int, bits: int) -> None:
    x = np.array([2**31 - 1, -(2**31), 3, -3, 0], "int32")
    got = np.zeros(5, "int32")
    translate(of_fixed_point(y, bits))(x, x, got)
    exact = [(int(each) * y + (1 << bits - 1)) // (1 << bits) for each in x]
    np.testing.assert_array_equal(got, np.array(exact).astype("int32"))


def test_products_of_fixed_point_numbers_with_a_shift_are_not_known() -> None:
    """The docstring and the code shift to opposite sides."""
    with pytest.raises(Unsupported, match="q_multiply_shift with a shift"):
        translate(of_fixed_point(5, 31, 1))


def test_what_is_not_known_is_named() -> None:
    func = elementwise(lambda a, b: tirx.call_intrin("float32", "tirx.dp4a", a, b), "float32", 4)
    with pytest.raises(Unsupported, match=r"TensorIR operator tirx\.dp4a"):
        translate(func)


def test_literals_have_the_dtype_of_the_expression() -> None:
    """`0.1` is a float32 before it is multiplied, and float16 sums stay float16."""
    args = [np.full(2, 3, "float16"), np.full(2, 5, "float16"), np.zeros(2, "float16")]
    func = elementwise(lambda a, b: a * tirx.const(0.1, "float16") + b, "float16", 2)
    translate(func)(*args)
    assert args[2][0] == np.float16(3) * np.float16(0.1) + np.float16(5)


@T.prim_func(private=True)
def at_the_end(A: T.Buffer((2,), "int64"), B: T.Buffer((2,), "int32"), n: T.int32):
    A[0] = T.Add(T.int64(2**63 - 1), T.int64(1))
    B[0] = n + 1


def test_integers_wrap_around_where_they_are_stored() -> None:
    """As scalars they are Python's, which do not."""
    a, b = np.zeros(2, "int64"), np.zeros(2, "int32")
    translate(at_the_end)(a, b, 2**31 - 1)
    assert (a[0], b[0]) == (-(2**63), -(2**31))
    fault = sanitize(at_the_end, [a, b, 5], overflow=True)
    assert fault is not None
    assert fault.kind == OVERFLOW


@T.prim_func
def shifted_out(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = T.shift_right(T.shift_left(i - 2, 31), 31)


def test_bits_that_are_shifted_out_are_gone() -> None:
    """As where the number is an element; the simplifier takes the shift for a product."""
    args = [np.zeros(4, "int32")]
    fault = sanitize(shifted_out, args, overflow=True)
    assert fault is not None
    assert fault.kind == OVERFLOW
    translate(shifted_out)(*args)
    np.testing.assert_array_equal(args[0], [0, -1, 0, -1])
    native = run_native({"f": shifted_out}, {"f": [np.zeros(4, "int32")]})["f"]
    assert_same_bits(native, args, "shifted out")
