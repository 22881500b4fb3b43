"""Scalar operations of TensorIR, each for NumPy scalars and arrays alike, in the exact dtype.

Generated programs call these by the names in `NAMES`. Operations that Python and NumPy write as an
operator are not included. An operation without a meaning (division of integers by zero, a shift by
the width or more) raises `Undefined`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ...generators.ops.undefined import Behaviour
from ..errors import Undefined, Unsupported

BITS = (8, 16, 32, 64)

EXTERNAL = frozenset({"call_extern", "call_pure_extern"})
"""Calls of functions linked to the compiled code."""


def cast(x: Any, dtype: Any) -> Any:
    """Convert as C does: floats are truncated to integers, integers wrap around."""
    return np.asarray(x).astype(dtype)[()]


def wrapped(x: Any, bits: int) -> Any:
    """A Python integer as a signed integer of `bits` bits."""
    half = 1 << (bits - 1)
    return (x + half) % (2 * half) - half


def reinterpret(x: Any, dtype: Any) -> Any:
    """The same bits as another dtype."""
    return np.asarray(x).view(dtype)[()]


@functools.lru_cache
def steps(count: int, dtype: Any) -> Any:
    """The numbers from zero to `count - 1`."""
    numbers = np.arange(count, dtype=dtype)
    numbers.flags.writeable = False
    return numbers


def divisor(x: Any, active: Any = True) -> Any:
    """An integer to divide by; 1 in place of a zero if the division is not carried out."""
    if isinstance(x, int) and x:
        return x
    zero = np.equal(x, 0)
    if not np.any(zero):
        return x
    if np.any(zero & active):
        raise Undefined(Behaviour.DIVISION)
    return np.where(zero, np.ones_like(x), x)


def shift(x: Any, bits: int, active: Any = True) -> Any:
    """An amount to shift by; 0 in place of an invalid one if the shift is not carried out."""
    if isinstance(x, int) and 0 <= x < bits:
        return x
    wrong = np.less(x, 0) | np.greater_equal(x, bits)
    if not np.any(wrong):
        return x
    if np.any(wrong & active):
        by = np.broadcast_to(x, np.broadcast(x, active).shape)[wrong & active].flat[0]
        raise Undefined(f"{Behaviour.SHIFT}: of {bits} bits by {by}")
    return np.where(wrong, np.zeros_like(x), x)


def truncdiv(a: Any, b: Any) -> Any:
    """Division of integers towards zero."""
    quotient = a // b
    return quotient + ((quotient < 0) & (quotient * b != a))


def truncmod(a: Any, b: Any) -> Any:
    """The remainder of `truncdiv`, with the sign of the dividend."""
    return a - truncdiv(a, b) * b


def floor_div(a: Any, b: Any) -> Any:
    """Division of floats, rounded down."""
    return np.floor(a / b)


def floor_mod(a: Any, b: Any) -> Any:
    """The remainder of `floor_div`."""
    return a - np.floor(a / b) * b


def lesser(a: Any, b: Any) -> Any:
    """`min`: the second operand unless the first is smaller, so also if either is NaN."""
    return np.where(a < b, a, b)[()]


def greater(a: Any, b: Any) -> Any:
    """`max`: the second operand unless the first is greater, so also if either is NaN."""
    return np.where(a > b, a, b)[()]


def erf(x: Any) -> Any:
    x = np.asarray(x)
    values = [math.erf(item) for item in x.astype("float64").ravel().tolist()]
    return np.array(values).astype(x.dtype).reshape(x.shape)[()]


def sigmoid(x: Any) -> Any:
    one = np.ones_like(x)
    return one / (one + np.exp(-x))


def rsqrt(x: Any) -> Any:
    return np.ones_like(x) / np.sqrt(x)


def exp10(x: Any) -> Any:
    return np.power(cast(10, np.asarray(x).dtype), x)


def differs(a: Any, b: Any) -> Any:
    """`!=` of floats: false if either is NaN, like all comparisons in compiled code."""
    return np.less(a, b) | np.greater(a, b)


def clz(x: Any) -> Any:
    """The number of leading zero bits, as int32; for zero, all bits."""
    x = np.asarray(x)
    bits = 8 * x.dtype.itemsize
    rest = x.view(f"u{x.dtype.itemsize}")
    result = np.full(x.shape, bits, "int32")
    for _ in range(bits):
        result -= rest != 0
        rest = rest >> 1
    return result[()]


def popcount(x: Any) -> Any:
    x = np.asarray(x)
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)[()]


def away(x: Any) -> Any:
    """`round` of C: halves are rounded away from zero."""
    return np.trunc(x + np.copysign(cast(0.5, np.asarray(x).dtype), x))


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once if float64 holds it exactly."""
    dtype = np.asarray(a).dtype
    return cast(cast(a, np.float64) * b + c, dtype)


def fixed_point(x: Any, y: Any, bits: int) -> Any:
    """`q_multiply_shift` without a shift: `x * y / 2**bits`, rounded half up, as int32."""
    product = np.asarray(x).astype("int64") * np.asarray(y).astype("int64")
    return cast((product + (1 << (bits - 1))) >> bits, np.int32)


def ldexp(x: Any, exponent: Any) -> Any:
    return np.ldexp(x, np.asarray(exponent).astype("int32"))


def at(index: Any, size: Any, active: Any = True) -> Any:
    """An index into a dimension of this size; any valid one if nothing is accessed.

    Raises:
        Undefined: it is out of bounds; NumPy would count negative ones from the end.
        Unsupported: nothing is accessed, and no index is valid.
    """
    if isinstance(index, np.ndarray):
        if not index.size or (index.min() >= 0 and index.max() < size):
            return index
        outside = (index < 0) | (index >= size)
        if np.any(outside & active):
            wrong = np.broadcast_to(index, np.broadcast(index, active).shape)[outside & active]
            text = f"{Behaviour.INDEX}: {wrong.flat[0]} of a dimension of {size}"
            raise Undefined(text, size)
        if size <= 0:
            raise Unsupported("lanes on a buffer without elements")
        return index.clip(0, size - 1)
    if 0 <= index < size:
        return index
    if np.any(active):
        raise Undefined(f"{Behaviour.INDEX}: {index} of a dimension of {size}", size)
    return 0


_NUMPY = """
exp exp2 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh floor ceil trunc abs isnan isinf
isfinite
"""

UNARY: Mapping[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in _NUMPY.split()},
    "exp10": exp10,
    "rsqrt": rsqrt,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": erf,
    "sigmoid": sigmoid,
    "nearbyint": np.rint,
    "round": np.rint,
    "fabs": np.abs,
    "clz": clz,
    "popcount": popcount,
}
"""Intrinsics of one operand by the name of the operator, without its prefix."""

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "pow": np.power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "ldexp": ldexp,
}

_OF_C = """
exp exp2 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf
fabs floor ceil trunc nearbyint pow fmod atan2 hypot copysign nextafter fma fmax fmin
"""

C_FUNCTIONS: Mapping[str, str] = {
    **{name: name for name in _OF_C.split()},
    "rint": "nearbyint",
    "round": "away",
}
"""Our implementations of functions of `math.h`, by name. Those of float have the suffix "f"."""

OF_C: Mapping[str, tuple[str, str]] = {
    f"{name}{suffix}": (function, dtype)
    for name, function in C_FUNCTIONS.items()
    for suffix, dtype in (("", "float64"), ("f", "float32"))
}
"""External functions that PrimFuncs may call, each with our implementation, and the dtype of its
operands and result."""

DTYPES: Mapping[str, Any] = {
    "bool": np.bool_,
    **{f"{sign}int{bits}": getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in BITS},
    **{f"float{bits}": getattr(np, f"float{bits}") for bits in BITS[1:]},
    **{
        name: getattr(ml_dtypes, name)
        for name in (
            "bfloat16",
            "float8_e3m4",
            "float8_e4m3",
            "float8_e4m3b11fnuz",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
        )
    },
}
"""The scalar type of every dtype that programs may use."""

BITS_OF: Mapping[str, int] = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in BITS} | {
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    **{name: 8 for name in DTYPES if name.startswith("float8")},
}
"""The width of each dtype."""

NAMES: Mapping[str, Any] = {
    **UNARY,
    **BINARY,
    **DTYPES,
    "bool_": np.bool_,
    "inf": math.inf,
    "nan": math.nan,
    "where": np.where,
    "logical_not": np.logical_not,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "Undefined": Undefined,
    "fmax": np.fmax,
    "fmin": np.fmin,
    **{
        function.__name__: function
        for function in (
            *(cast, wrapped, reinterpret, divisor, shift, truncdiv, truncmod, floor_div, floor_mod),
            *(lesser, greater, differs, at, steps, away, fma, fixed_point),
        )
    },
}
"""Names that generated programs use."""
