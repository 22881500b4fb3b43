"""Translated values: their text, their dtypes, and their known bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from ..errors import Unsupported
from .intrinsics import DTYPES

INDEX = frozenset({"int32", "int64"})
"""Dtypes whose scalars are Python's integers; their overflow is undefined in TensorIR, too."""

NATIVE = frozenset(name for name in DTYPES if not name.startswith(("bfloat", "float8")))
"""Dtypes that a Python number adopts from its operand; with other dtypes the result is float32."""


@dataclass(frozen=True, slots=True)
class PyExpr:
    """The text of an expression, and the known facts about its value."""

    text: str
    dtype: str
    weak: bool = False
    """True for a Python number: an integer of a dtype in `INDEX`, or a literal."""
    lanes: bool = False
    """True if it differs between the iterations of a vectorised loop."""
    low: int | None = None
    high: int | None = None
    """Bounds of an integer, inclusive."""
    below: str | None = None
    """Text of an exclusive upper bound of a non-negative value: a symbolic extent."""

    @property
    def literal(self) -> int | None:
        """The integer, if it is known."""
        return self.low if self.low is not None and self.low == self.high and self.weak else None


def fits(value: PyExpr, dtype: str) -> bool:
    """True if an integer is known to fit into a signed type."""
    half = 1 << bits_of(dtype) - 1
    low, high = value.low, value.high
    return low is not None and high is not None and -half <= low <= high < half


def bits_of(dtype: str) -> int:
    """The number of bits of a signed integer type."""
    return int(dtype.removeprefix("int"))


@dataclass(slots=True)
class BufferArray:
    """A buffer: the name of its array, its dtype and its shape."""

    name: str
    dtype: str
    shape: tuple[PyExpr, ...]
    node: tirx.Buffer
    width: int = 1
    """Number of scalars in an element: for a vector, they are the last axis of the array."""


LIMIT = 1 << 31
"""The first number that is too large for an int32."""


_VECTOR = re.compile(r"(?P<scalar>.+?)x(?P<width>\d+)")


def dtype_of(ty: Any) -> str:
    """The dtype of a scalar type, or of the scalars of a vector type.

    Raises:
        Unsupported: it is neither.
    """
    dtype = str(getattr(ty, "dtype", ty))
    if dtype not in DTYPES and (vector := _VECTOR.fullmatch(dtype)):
        dtype = vector["scalar"]
    if dtype not in DTYPES:
        raise Unsupported(f"dtype {dtype}")
    return dtype


def width_of(ty: Any) -> int:
    """The number of scalars of a value of a type: more than one for a vector."""
    vector = _VECTOR.fullmatch(str(getattr(ty, "dtype", ty)))
    return int(vector["width"]) if vector else 1


def is_float(dtype: str) -> bool:
    """True for float16 to float64, bfloat16 and the kinds of float8."""
    return dtype.startswith(("float", "bfloat"))


def constant(number: int, dtype: str) -> PyExpr:
    """An integer known when the program is written."""
    return PyExpr(str(number) if number >= 0 else f"({number})", dtype, True, False, number, number)


def subscript(indices: Sequence[PyExpr]) -> str:
    """The text between the brackets of a subscript."""
    return ", ".join(index.text for index in indices) if indices else "()"


def limits(
    operation: Callable[[int, int], int], a: PyExpr, b: PyExpr
) -> tuple[int | None, int | None]:
    """Bounds of an operation that is monotonic in each operand.

    There are none if an operand has none or the dtype overflows.
    """
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    corners = [operation(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    half = LIMIT if a.dtype == "int32" else LIMIT << 32
    inside = -half <= min(corners) and max(corners) < half
    return (min(corners), max(corners)) if inside else (None, None)


def remainder_limits(a: PyExpr, b: PyExpr) -> tuple[int | None, int | None]:
    """Bounds of the remainder of a division by a positive number, rounded down."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    if b.low == b.high and a.low // b.low == a.high // b.low:
        return a.low % b.low, a.high % b.low
    return 0, b.high - 1


def either_bounds(a: PyExpr, b: PyExpr) -> tuple[int | None, int | None]:
    """Bounds of a value that is one of the two."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    return min(a.low, b.low), max(a.high, b.high)


def lanes_of(dtype: Any) -> list[tirx.IntImm]:
    """The axis for the scalars of a buffer's elements; none if the elements are scalars."""
    width = width_of(dtype)
    return [tirx.IntImm("int32", width)] if width > 1 else []


def sizes_of(storage: BufferArray) -> str:
    """The text of the sizes of an array, as the inside of a tuple."""
    vector = [str(storage.width)] if storage.width > 1 else []
    return "".join(f"{size}, " for size in (*(dim.text for dim in storage.shape), *vector))


def type_name(dtype: str) -> str:
    """The name of a dtype in generated programs."""
    return "bool_" if dtype == "bool" else dtype


def added(a: PyExpr, b: PyExpr) -> PyExpr:
    """The sum of two integers."""
    if a.literal == 0:
        return b
    if a.literal is not None and b.literal is not None:
        return constant(a.literal + b.literal, a.dtype)
    return PyExpr(f"({a.text} + {b.text})", a.dtype, True)


def product(a: PyExpr, b: PyExpr) -> PyExpr:
    """The product of two integers."""
    if a.literal is not None and b.literal is not None:
        return constant(a.literal * b.literal, a.dtype)
    return PyExpr(f"({a.text} * {b.text})", a.dtype, True)
