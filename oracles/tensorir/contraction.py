"""Sums of products (matmuls, convolutions) without an array of all the products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

CHUNK = 1 << 19
"""Lanes that run at once; more of them take turns, so that memory is bounded."""

SIDE_BY_SIDE = 256
"""So many sums are faster added to all at once, one summand after the other, than one by one."""

IN_ORDER = 1 << 16
"""Up to so many products of floats are added in the order of the loops."""

MATMUL = frozenset({"float32", "float64"})
"""The floats that BLAS multiplies. Narrower ones are rounded after each addition."""

EXACT = 1 << 53
"""Integers below are exact in float64, which BLAS multiplies faster than NumPy does integers."""


def fold_product(old: Any, a: Any, b: Any, heights: Sequence[int], counts: Sequence[int]) -> Any:
    """`old` and `a * b` along these axes in one sum.

    Integers wrap around. Floats are added in the order of the loops, which rounding depends on;
    more than `IN_ORDER` of the dtypes in `MATMUL` in the order that BLAS takes.

    Args:
        heights: axes, counted from the last one, in the order of the loops.
        counts: their lengths, which the operands have or are repeated to.
    """
    rank = max(*heights, *(np.ndim(each) for each in (old, a, b)))
    into, one, other = (_of_rank(each, rank) for each in (old, a, b))
    summed = [rank - height for height in heights]
    for axis in range(rank):
        if axis in summed:
            one = _repeated(one, axis, counts[summed.index(axis)])
            other = _repeated(other, axis, counts[summed.index(axis)])
        elif one.shape[axis] == other.shape[axis] == 1:
            one = _repeated(one, axis, into.shape[axis])
    kept = [axis for axis in range(rank) if axis not in summed]
    right = [axis for axis in kept if one.shape[axis] == 1]
    batch = [axis for axis in kept if axis not in right and other.shape[axis] > 1]
    left = [axis for axis in kept if axis not in right and axis not in batch]

    def size(array: Any, axes: Sequence[int]) -> int:
        return math.prod(array.shape[axis] for axis in axes)

    b_, l_, r_, k_ = size(one, batch), size(one, left), size(other, right), size(one, summed)
    x = one.transpose(*batch, *left, *right, *summed).reshape(b_, l_, k_)
    y = other.transpose(*batch, *left, *summed, *right).reshape(b_, k_, r_)
    order = (*batch, *left, *right, *summed)
    sums = [
        1 if axis in summed else max(one.shape[axis], other.shape[axis]) for axis in range(rank)
    ]
    start = np.broadcast_to(into, sums).transpose(order).reshape(b_, l_, r_)
    total = _summed(start, x, y).reshape([sums[axis] for axis in order])
    return total.transpose(np.argsort(order)).reshape(np.shape(old))[()]


def in_turn(ufunc: Any, first: Any, rows: Any) -> Any:
    """`first` and the elements of each row, one after the other."""
    result = ufunc(first, rows[..., 0])
    if np.size(result) > SIDE_BY_SIDE:
        for position in range(1, rows.shape[-1]):
            result = ufunc(result, rows[..., position])
    elif rows.shape[-1] > 1:
        rest = np.broadcast_to(rows[..., 1:], (*result.shape, rows.shape[-1] - 1))
        line = np.concatenate([result[..., None], rest], axis=-1)
        result = ufunc.accumulate(line, axis=-1)[..., -1]
    return result


def _summed(start: Any, x: Any, y: Any) -> Any:
    """`start + x @ y`, for stacks of matrices."""
    products = start.size * x.shape[2]
    if start.dtype.kind in "iu":
        return start + _exactly(x, y)
    if start.dtype.name in MATMUL and products > IN_ORDER:
        return start + x @ y
    rows = y.transpose(0, 2, 1)
    step = 1 if start.size > SIDE_BY_SIDE else CHUNK // max(1, start.size)
    for k in range(0, x.shape[2], step):
        part = x[:, :, None, k : k + step] * rows[:, None, :, k : k + step]
        start = in_turn(np.add, start, part)
    return start


def _exactly(x: Any, y: Any) -> Any:
    """`x @ y` of integers, modulo the range of their dtype."""
    largest = [max(-int(each.min()), int(each.max())) for each in (x, y) if each.size]
    if len(largest) == 2 and largest[0] * largest[1] * x.shape[2] < EXACT:
        return (x.astype("float64") @ y.astype("float64")).astype("int64").astype(x.dtype)
    return x @ y


def _of_rank(array: Any, rank: int) -> Any:
    array = np.asarray(array)
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def _repeated(array: Any, axis: int, count: int) -> Any:
    if array.shape[axis] == count:
        return array
    shape = list(array.shape)
    shape[axis] = count
    return np.broadcast_to(array, shape)
