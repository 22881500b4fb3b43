"""Operators that make tensors out of shapes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from . import accepts, undefined
from .record import ALL, BRAIN, FLOATS, NUMBERS, Op, moving

__all__ = ["OPS"]

RANGES = ("float32", "int64", "int32", "float64")


def _dtype(attrs: Any, default: Any = None) -> Any:
    return default if attrs.dtype is None else np.dtype(str(attrs.dtype))


def _filled(name: str, value: int) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        return call(s.shape_expr(c, s.shape(c, c.pick((2, 1, 3, 0)))), c.pick(ALL))

    return Op(
        name=name,
        build=build,
        reference=lambda args, attrs: np.full(args[0], value, _dtype(attrs)),
        dtypes=ALL,
        nonfinite=True,
        interchangeable=True,
    )


def _filled_like(name: str, value: int) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=ALL, complete=False)
        return call(x.expr, c.pick(ALL) if c.flag(0.3) else None)

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        return np.full(args[0].shape, value, _dtype(attrs, args[0].dtype))

    return Op(
        name=name,
        build=build,
        reference=evaluate,
        dtypes=ALL,
        nonfinite=True,
        elementwise=True,
    )


def _fill_value(c: Choices, s: Scope, dtype: str) -> relax.Expr:
    if c.flag(0.7):
        return s.constant(c, (), dtype).expr
    return s.tensor(c, dtype=dtype, shape=()).expr


def _fill_dtype(c: Choices) -> str | None:
    """A float dtype or none: floats hold any value."""
    return c.pick(FLOATS) if c.flag(0.4) else None


def _build_full(c: Choices, s: Scope) -> relax.Expr:
    value = _fill_value(c, s, c.pick(NUMBERS))
    return relax_op.full(s.shape_expr(c, s.shape(c, c.pick((2, 1, 3, 0)))), value, _fill_dtype(c))


def _full(args: Sequence[Any], attrs: Any) -> Any:
    shape, value = args
    return np.full(shape, value, _dtype(attrs, value.dtype))


def _build_full_like(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL)
    assert x.dtype is not None
    return relax_op.full_like(x.expr, _fill_value(c, s, x.dtype), _fill_dtype(c))


def _full_like(args: Sequence[Any], attrs: Any) -> Any:
    x, value = args
    return np.full(x.shape, value, _dtype(attrs, x.dtype))


def _build_arange(c: Choices, s: Scope) -> relax.Expr:
    start, step, count = c.pick((0, 1, -2)), c.pick((1, 2, 3)), c.pick((3, 4, 1, 5))
    end = start + step * count - c.below(step)
    # No negative steps: TVM infers more elements for them than there are.
    return relax_op.arange(start, end, step, c.pick(RANGES))


def _build_eye(c: Choices, s: Scope) -> relax.Expr:
    n, m = c.pick((2, 3, 1)), c.pick((None, 2, 4))
    return relax_op.eye(n, m, c.pick((0, 1, -1)), c.pick(NUMBERS))


def _eye(args: Sequence[Any], attrs: Any) -> Any:
    n, m, k = args
    return np.eye(int(n), int(m), int(k), dtype=_dtype(attrs))


def _build_eye_like(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=NUMBERS, ndim=2)
    return relax_op.eye_like(x.expr, c.pick((0, 1, -1)), c.pick(NUMBERS) if c.flag(0.3) else None)


def _eye_like(args: Sequence[Any], attrs: Any) -> Any:
    x, k = args
    return np.eye(x.shape[0], x.shape[1], int(k), dtype=_dtype(attrs, x.dtype))


def _triangle(name: str, reference: Callable[..., Any]) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=(*ALL, *BRAIN), ndim=(2, 3, 4))
        return call(x.expr, c.pick((0, 1, -1, 3, -3)))

    return moving(
        name,
        build,
        lambda args, attrs: reference(args[0], int(args[1])),
    )


def _build_hamming_window(c: Choices, s: Scope) -> relax.Expr:
    return relax_op.hamming_window(c.pick((4, 3, 8, 1)), c.flag(), 0.54, 0.46, c.pick(FLOATS))


def _hamming_window(args: Sequence[Any], attrs: Any) -> Any:
    """As PyTorch's: a periodic window omits its last point; a window of size 1 is 1."""
    size, periodic, alpha, beta = args
    if int(size) == 1:
        return np.ones(1, _dtype(attrs))
    points = int(size) if periodic else int(size) - 1
    window = alpha - beta * np.cos(2 * np.pi * np.arange(int(size)) / points)
    return window.astype(_dtype(attrs))


def _build_one_hot(c: Choices, s: Scope) -> relax.Expr:
    ndim = c.pick((1, 2))
    shape = [d for d in s.shape(c, ndim, static=True) if isinstance(d, int)]
    depth = c.pick((4, 3, 5))
    indices = s.constant(c, shape, c.pick(("int64", "int32")), low=0, high=depth - 1)
    on, off = c.pick(((1.0, 0.0), (1, 0), (5, -1)))
    return relax_op.one_hot(indices.expr, on, off, depth, c.pick((-1, *range(ndim + 1))))


def _one_hot(args: Sequence[Any], attrs: Any) -> Any:
    indices, on, off = args
    depth, axis = int(attrs.depth), int(attrs.axis)
    hot = np.where(indices[..., None] == np.arange(depth), on, off).astype(np.asarray(on).dtype)
    return np.moveaxis(hot, -1, axis)


OPS = (
    Op(
        name="full",
        build=_build_full,
        reference=_full,
        interchangeable=True,
        dtypes=NUMBERS,
        kinds="b",
        nonfinite=True,
        undefined=undefined.unrepresentable_fill,
    ),
    _filled("zeros", 0),
    _filled("ones", 1),
    Op(
        name="full_like",
        build=_build_full_like,
        reference=_full_like,
        dtypes=ALL,
        nonfinite=True,
        undefined=undefined.unrepresentable_fill,
        elementwise=True,
    ),
    _filled_like("zeros_like", 0),
    _filled_like("ones_like", 1),
    Op(
        name="arange",
        build=_build_arange,
        reference=lambda args, attrs: np.arange(*args, dtype=_dtype(attrs)),
        dtypes=RANGES,
    ),
    Op(name="eye", build=_build_eye, reference=_eye, dtypes=NUMBERS, kinds="b"),
    Op(
        name="eye_like",
        build=_build_eye_like,
        reference=_eye_like,
        dtypes=NUMBERS,
        kinds="b",
        nonfinite=True,
    ),
    _triangle("tril", np.tril),
    _triangle("triu", np.triu),
    Op(
        name="hamming_window",
        build=_build_hamming_window,
        reference=_hamming_window,
        dtypes=FLOATS,
    ),
    Op(
        name="one_hot",
        build=_build_one_hot,
        reference=_one_hot,
        dtypes=("int64", "int32"),
        accepts=accepts.depth,
        numbers=True,  # the result has the dtype of the number, e.g. float32
    ),
)
