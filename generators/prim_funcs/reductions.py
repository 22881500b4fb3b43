"""Reductions as people write them in TE: of operands that may be narrower than the result, and with
elementwise steps around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx

from ..choices import Choices

BYTES = 16
"""For one function."""

PRODUCTS = (
    ("float32", "float32"),
    ("float16", "float32"),
    ("int8", "int32"),
    ("float16", "float16"),
    ("int32", "int32"),
)
"""Dtypes of operands, and of their products."""

DTYPES = (*PRODUCTS, ("int32", "int64"))
"""Of operands, and of what is computed of them."""

MOST = 2**15
"""Elements that are added up, so that evaluating them takes no time."""

Value = Callable[..., Any]
"""An element of what is reduced: of an index for each axis of the result, and the one reduced."""


def reduction(data: bytes, sizes: Sequence[int]) -> tirx.PrimFunc:
    """The public PrimFunc that these bytes stand for.

    Args:
        sizes: of its dimensions.
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
    """What is reduced is computed by a block of its own."""
    made: Value = te.compute(shape, lambda *i: value(*i) * tirx.const(2, dtype), name="scaled")
    return made


def _followed(c: Choices, total: te.Tensor, value: Value, narrow: str, length: int) -> te.Tensor:
    """The result, or what is computed of it."""
    one = tirx.const(1, total.dtype)
    shape = total.shape
    match c.pick(("nothing", "nothing", "step", "narrowed", "spread")):
        case "step":
            return te.compute(shape, lambda *i: total(*i) + one, name="step")
        case "narrowed" if not narrow.startswith("int"):  # what does not fit has no meaning
            return te.compute(shape, lambda *i: total(*i).astype(narrow), name="narrowed")
        case "spread":
            spread = (*shape, length)
            return te.compute(spread, lambda *i: value(*i) - total(*i[:-1]), name="spread")
    return total


Form = tuple[list[te.Tensor], list[int], Value]
"""Operands, the shape of the result, and what is reduced."""


def _last(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((rows, length), narrow, name="A")
    return [a], [rows], lambda i, k: a(i, k).astype(wide)


def _first(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((length, columns), narrow, name="A")
    return [a], [columns], lambda i, k: a(k, i).astype(wide)


def _middle(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((rows, length, columns), narrow, name="A")
    return [a], [rows, columns], lambda i, j, k: a(i, k, j).astype(wide)


def _whole(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((length,), narrow, name="A")
    return [a], [], lambda k: a(k).astype(wide)


def _matmul(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((rows, length), narrow, name="A")
    b = te.placeholder((length, columns), narrow, name="B")
    return [a, b], [rows, columns], lambda i, j, k: a(i, k).astype(wide) * b(k, j).astype(wide)


def _gemv(narrow: str, wide: str, rows: int, length: int, columns: int) -> Form:
    a = te.placeholder((1, length), narrow, name="A")
    b = te.placeholder((columns, length), narrow, name="B")
    return [a, b], [1, columns], lambda i, j, k: a(i, k).astype(wide) * b(j, k).astype(wide)


_FORMS: tuple[Callable[[str, str, int, int, int], Form], ...] = (
    _last,
    _matmul,
    _first,
    _gemv,
    _middle,
    _whole,
)
