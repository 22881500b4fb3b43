"""Reductions as people write them in TE: operands may be narrower than the result, and there may be
elementwise steps before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx

from ..choices import Choices

BYTES = 16
"""Bytes for one function."""

PRODUCTS = (
    ("float32", "float32"),
    ("float16", "float32"),
    ("int8", "int32"),
    ("float16", "float16"),
    ("int32", "int32"),
)
"""Dtypes of operands, and of their products."""

DTYPES = (*PRODUCTS, ("int32", "int64"))
"""Dtypes of operands, and of results computed from them."""

MOST = 2**15
"""The most elements to add up, so that evaluating them is fast."""

Value = Callable[..., Any]
"""The element to reduce, for an index of each axis of the result and of the reduced axis."""


def reduction(data: bytes, sizes: Sequence[int]) -> tirx.PrimFunc:
    """The public PrimFunc that these bytes stand for.

    Args:
        sizes: the sizes of its dimensions.
    """
    c = Choices(data)
    narrow, wide = c.pick(DTYPES)
    rows, length, columns = (c.pick(sizes) for _ in range(3))
    columns = columns if rows * length * columns <= MOST else 2
    inputs, shape, value = c.pick(_FORMS)(narrow, wide, rows, length, columns)
    if c.flag(0.2):
        value = _named(value, [*shape, length], wide)
    k = te.reduce_axis((0, length), name="k")
    combine = c.pick((te.sum, te.sum, te.max, te.min))
    total = te.compute(shape, lambda *i: combine(value(*i, k), axis=k), name="total")
    made = te.create_prim_func([*inputs, _followed(c, total, value, narrow, length)])
    return made.with_attr("global_symbol", "reduction")


def _named(value: Value, shape: Sequence[int], dtype: str) -> Value:
    """The reduced values, computed by a block of their own."""
    made: Value = te.compute(shape, lambda *i: value(*i) * tirx.const(2, dtype), name="scaled")
    return made


def _followed(c: Choices, total: te.Tensor, value: Value, narrow: str, length: int) -> te.Tensor:
    """The result, or a tensor computed from it."""
    one = tirx.const(1, total.dtype)
    shape = total.shape
    match c.pick(("nothing", "nothing", "step", "narrowed", "spread", "moved")):
        case "step":
            return te.compute(shape, lambda *i: total(*i) + one, name="step")
        case "moved":
            shape, move = c.pick(_MOVES)(list(shape))
            return te.compute(shape, lambda *i: total(*move(i)) + one, name="moved")
        case "narrowed" if not narrow.startswith("int"):  # integers that do not fit are undefined
            return te.compute(shape, lambda *i: total(*i).astype(narrow), name="narrowed")
        case "spread":
            spread = (*shape, length)
            return te.compute(spread, lambda *i: value(*i) - total(*i[:-1]), name="spread")
    return total


Move = tuple[list[Any], Callable[[Sequence[Any]], Sequence[Any]]]
"""The shape of a tensor, and the position in another one that each of its elements comes from."""


def _flipped(shape: list[Any]) -> Move:
    return shape, lambda i: [size - 1 - at for size, at in zip(shape, i, strict=True)]


def _shifted(shape: list[Any]) -> Move:
    return shape, lambda i: [tirx.floormod(at + 1, n) for n, at in zip(shape, i, strict=True)]


def _transposed(shape: list[Any]) -> Move:
    return shape[::-1], lambda i: i[::-1]


_MOVES: tuple[Callable[[list[Any]], Move], ...] = (_flipped, _transposed, _shifted)


ReductionForm = tuple[list[te.Tensor], list[int], Value]
"""Operands, the shape of the result, and the element to reduce."""


def _last(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((rows, length), narrow, name="A")
    return [a], [rows], lambda i, k: a(i, k).astype(wide)


def _first(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((length, columns), narrow, name="A")
    return [a], [columns], lambda i, k: a(k, i).astype(wide)


def _middle(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((rows, length, columns), narrow, name="A")
    return [a], [rows, columns], lambda i, j, k: a(i, k, j).astype(wide)


def _whole(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((length,), narrow, name="A")
    return [a], [], lambda k: a(k).astype(wide)


def _matmul(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((rows, length), narrow, name="A")
    b = te.placeholder((length, columns), narrow, name="B")
    return [a, b], [rows, columns], lambda i, j, k: a(i, k).astype(wide) * b(k, j).astype(wide)


def _gemv(narrow: str, wide: str, rows: int, length: int, columns: int) -> ReductionForm:
    a = te.placeholder((1, length), narrow, name="A")
    b = te.placeholder((columns, length), narrow, name="B")
    return [a, b], [1, columns], lambda i, j, k: a(i, k).astype(wide) * b(j, k).astype(wide)


_FORMS: tuple[Callable[[str, str, int, int, int], ReductionForm], ...] = (
    _last,
    _matmul,
    _first,
    _gemv,
    _middle,
    _whole,
)
