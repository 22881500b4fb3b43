"""Choices that many operators share: axes, operands that broadcast, shapes without zeros."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from tvm import relax

from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from .record import BRAIN, FLOATS, Reference

HALVES = ("float16", "bfloat16")


def nonempty(value: Value) -> bool:
    """True if no dimension is known to be 0."""
    return value.shape is not None and 0 not in [d for d in value.shape if isinstance(d, int)]


def positive(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape with 1 in place of every 0."""
    return tuple(1 if isinstance(d, int) and d == 0 else d for d in shape)


def dtype_of_result(c: Choices, s: Scope, allowed: Sequence[str]) -> str:
    """A dtype for an attribute, often from the palette of the module's functions."""
    named = [dtype for dtype in s.module.dtypes if dtype in allowed]
    return c.pick(named if named and c.flag(0.6) else allowed)


def some_dim(c: Choices, s: Scope) -> Dim:
    """1, or a dim of the function's palette; it may be symbolic, but not 0."""
    return positive((c.pick((1, *s.dims)),))[0]


def nonempty_tensor(
    c: Choices,
    s: Scope,
    dtype: str | Collection[str],
    ndims: Sequence[int] = (2, 3, 1, 4),
    *,
    static: bool = False,
) -> Value:
    """A tensor of complete type without a dimension known to be 0."""
    fresh = positive(s.shape(c, c.pick(ndims), static=static))
    return s.tensor(c, dtype=dtype, ndim=ndims, static=static, where=nonempty, fresh_shape=fresh)


def ints(shape: Sequence[Dim] | None) -> list[int]:
    """The dims of a static shape as ints."""
    return [d for d in shape or () if isinstance(d, int)]


def one_axis(c: Choices, ndim: int) -> int:
    """An axis of a tensor of this rank, sometimes counted from the end."""
    axis = c.below(ndim)
    return axis - ndim if c.flag(0.25) else axis


def some_axes(c: Choices, ndim: int, *, at_least: int = 0) -> list[int]:
    """Distinct axes, in order, some counted from the end."""
    axes = [axis for axis in range(ndim) if c.flag(0.4)]
    if len(axes) < at_least:
        axes = list(range(at_least))
    return [axis - ndim if c.flag(0.2) else axis for axis in axes]


def any_axes(c: Choices, ndim: int, *, without: Collection[int] = ()) -> list[int]:
    """Distinct axes in any order, some counted from the end; perhaps none."""
    chosen = c.pick(_orders(ndim))[: (1 + c.below(ndim + 1)) % (ndim + 1)]
    ends = c.picks((0, -ndim), len(chosen))
    return [axis + end for axis, end in zip(chosen, ends, strict=True) if axis not in without]


@cache
def _orders(ndim: int) -> tuple[tuple[int, ...], ...]:
    return tuple(permutations(range(ndim)))


def broadcast_shape(c: Choices, shape: Sequence[Dim]) -> tuple[Dim, ...]:
    """A shape that broadcasts with the given one: the same, a part of it, or a larger one."""
    kind = c.below(8)
    if kind < 3 or (kind == 5 and not shape):
        return tuple(shape)
    if kind == 3:
        return ()
    if kind == 4:
        return tuple(shape[c.below(len(shape) + 1) :])
    if kind == 5:
        return tuple(1 if c.flag() else d for d in shape)
    if kind == 6:
        return (c.pick((1, 2)), *shape)
    return tuple(c.pick((2, 3)) if isinstance(d, int) and d == 1 else d for d in shape)


def partner(c: Choices, s: Scope, x: Value) -> Value:
    """A second operand for an elementwise operator: of x's dtype, and it broadcasts with x.

    If x's type is incomplete, only x itself and scalars are sure to fit.
    """
    if x.dtype is None or (x.shape is None and c.flag()):
        return x
    shape = broadcast_shape(c, x.shape) if x.shape is not None else ()
    return s.tensor(c, dtype=x.dtype, shape=shape)


def scalar(value: float, dtype: str | None) -> relax.Expr:
    """A rank-0 constant."""
    return relax.const(value, dtype or "float32")


def single(x: Any) -> Any:
    """The array in at least float32, in which the references of half precision compute."""
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype.name in HALVES else x


def in_single(reference: Reference) -> Reference:
    """Compute in float32 where the first operand is of half precision, and round the result."""

    def rounded(args: Sequence[Any], attrs: Any) -> Any:
        dtype = args[0].dtype
        if dtype.name not in HALVES:
            return reference(args, attrs)
        result = reference([single(arg) for arg in args], attrs)
        if isinstance(result, tuple):
            return tuple(_narrow(part, dtype) for part in result)
        return _narrow(result, dtype)

    return rounded


def _narrow(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if x.dtype == np.float32 else x


def quiet(reference: Reference) -> Reference:
    """Silence NumPy's warnings: overflow, NaN and division by 0 are values here."""

    def silent(args: Sequence[Any], attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            return reference(args, attrs)

    return silent


def build_unary(
    call: Callable[[relax.Expr], relax.Expr], dtypes: Collection[str] = (*FLOATS, *BRAIN)
) -> Callable[[Choices, Scope], relax.Expr]:
    """One operand of any shape; its type may be incomplete."""

    def build(c: Choices, s: Scope) -> relax.Expr:
        return call(s.tensor(c, dtype=dtypes, complete=False).expr)

    return build


def build_binary(
    call: Callable[[relax.Expr, relax.Expr], relax.Expr], dtypes: Collection[str]
) -> Callable[[Choices, Scope], relax.Expr]:
    """Two operands of one dtype that broadcast either way; their types may be incomplete."""

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=dtypes, complete=False)
        y = partner(c, s, x)
        return call(y.expr, x.expr) if c.flag(0.25) else call(x.expr, y.expr)

    return build
