"""Functions of generated programs besides intrinsics: arguments, memory, views, folds, budgets."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ...generators.ops.undefined import Behaviour
from ..errors import Mismatch, TooLarge, Undefined
from .intrinsics import NAMES as INTRINSICS
from .intrinsics import greater, lesser
from .packed import NAMES as PACKED
from .values import INDEX

PATTERN = ContextVar("PATTERN", default=0x7F)
"""The value of every unwritten byte: huge floats and integers, and NaN in float16, so that reads of
it are visible."""

OTHER = 0x11
"""Another pattern: results that change with it depend on unwritten memory."""

ZERO, NEGATIVE = 0x00, 0xF1
"""Further patterns, since a comparison with unwritten memory may agree for two large numbers."""

CHUNK = 1 << 19
"""Number of lanes that run at once; further lanes take turns, so that memory is bounded."""

SIDE_BY_SIDE = 256
"""Number of sums above which it is faster to add each summand to all sums at once."""

IN_ORDER = 1 << 16
"""Largest number of products of floats that are added in the order of the loops."""

MATMUL = frozenset({"float32", "float64"})
"""The floats that BLAS multiplies. Narrower ones are rounded after each addition."""

EXACT = 1 << 53
"""Bound below which integers are exact in float64, which BLAS multiplies faster than NumPy
multiplies integers."""

MEMORY = 1 << 24
"""Number of scalars that concurrent threads of a device may hold; a single block may exceed it."""

ELEMENTS = 1 << 28
"""The largest buffer that a program may allocate."""


def dims(array: Any, dtype: Any, rank: int) -> tuple[int, ...]:
    """The shape of an argument.

    Raises:
        Mismatch: it is not an array of this dtype and rank.
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != rank:
        raise Mismatch(f"Expected {np.dtype(dtype)} of rank {rank} but got {_described(array)}")
    shape: tuple[int, ...] = array.shape
    return shape


def shaped(array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Check an argument whose shape is known.

    Raises:
        Mismatch: it is not an array of this dtype and shape.
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        raise Mismatch(f"Expected {np.dtype(dtype)}{list(shape)} but got {_described(array)}")


def _described(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else repr(array)


def mismatch(size: int, expected: str) -> NoReturn:
    raise Mismatch(f"Expected a dimension of {expected} but got {size}")


def failed(message: str) -> NoReturn:
    raise Mismatch(f"Assertion failed: {message}")


def too_large() -> NoReturn:
    raise TooLarge("more iterations than the budget of the program")


def alloc(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A new buffer, full of NaN or a large number because it is not written yet."""
    size = 1
    for dim in shape:
        size *= dim
    if size > ELEMENTS:
        raise TooLarge(f"a buffer of {size} elements")
    if any(dim < 0 for dim in shape):
        raise Undefined(f"a buffer of shape {shape}")
    return np.full(shape, poison(np.dtype(dtype)), dtype)


def poison(dtype: np.dtype[Any]) -> Any:
    """A placeholder for a value that was never computed; it differs for each `PATTERN`."""
    pattern = PATTERN.get()
    if dtype.kind == "b":
        return pattern not in (OTHER, ZERO)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = {OTHER: info.max // 5, ZERO: 0, NEGATIVE: info.min // 7}
        return numbers.get(pattern, info.max // 3)
    floats = {OTHER: 3.0, ZERO: 0.0, NEGATIVE: -5.0}
    usual = ml_dtypes.finfo(dtype).max if dtype.name == "float8_e4m3fn" else np.nan
    return floats.get(pattern, usual)


def undefined(dtype: Any) -> Any:
    """The value of `T.undef()`, in the form of scalars of the dtype."""
    kind = np.dtype(dtype)
    value = poison(kind)
    return value if kind.name in INDEX else np.asarray(value, kind)[()]


def region(
    array: np.ndarray[Any, Any], ranges: Sequence[tuple[int, int]], shape: Sequence[int]
) -> np.ndarray[Any, Any]:
    """A part of a buffer, viewed in a shape that may have fewer axes."""
    for (begin, extent), size in zip(ranges, array.shape, strict=True):
        if begin < 0 or begin + extent > size:
            raise Undefined(
                f"{Behaviour.INDEX}: region [{begin}, {begin + extent}) of a dimension of {size}"
            )
    part = array[tuple(slice(begin, begin + extent) for begin, extent in ranges)]
    keep = []
    wanted = list(shape)
    for axis in range(part.ndim - 1, -1, -1):
        if wanted and part.shape[axis] == wanted[-1]:
            wanted.pop()
            keep.append(axis)
        elif part.shape[axis] != 1:
            raise Mismatch(f"Expected a region of shape {list(shape)} but got {list(part.shape)}")
    if wanted:
        raise Mismatch(f"Expected a region of shape {list(shape)} but got {list(part.shape)}")
    return part[tuple(slice(None) if axis in keep else 0 for axis in range(part.ndim))]


def offset(part: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> int:
    """The number of elements before a view in the array that it views."""
    first, begin = (a.__array_interface__["data"][0] for a in (part, whole))
    return int(first - begin) // whole.itemsize


def view(
    array: np.ndarray[Any, Any],
    dtype: Any,
    shape: Sequence[int],
    strides: Sequence[int],
    begin: int,
) -> np.ndarray[Any, Any]:
    """The memory of a buffer as another dtype and shape.

    Raises:
        Undefined: it does not fit into the memory.
    """
    size = np.dtype(dtype).itemsize
    if not array.flags.c_contiguous:
        raise Undefined("a view of memory that is not contiguous")
    steps = tuple(stride * size for stride in strides) if strides else None
    memory = array.reshape(-1).view("uint8").data  # NumPy has no buffer protocol for bfloat16
    try:
        return np.ndarray(tuple(shape), dtype, memory, begin * size, steps)
    except (TypeError, ValueError) as error:
        raise Undefined(f"a view that leaves its memory: {error}") from error


@functools.lru_cache(maxsize=4096)
def span(begin: int, end: int, height: int, dtype: Any, step: int = 1) -> Any:
    """The values of a loop variable, along the axis with `height - 1` axes after it."""
    lanes = np.arange(begin, end, step, dtype=dtype).reshape(-1, *(1,) * (height - 1))
    lanes.flags.writeable = False
    return lanes


def chunks(
    begin: int, end: int, height: int, dtype: Any, inner: int, step: int = 1
) -> Iterator[tuple[np.ndarray[Any, Any], slice, int]]:
    """A loop in pieces of bounded size: the variable's values, their slice, their number."""
    size = max(1, CHUNK // max(inner, 1)) * step
    for low in range(begin, end, size):
        high = min(low + size, end)
        lanes = span(low, high, height, dtype, step)
        yield lanes, slice(low, high, step), lanes.size


def own(values: Any) -> Any:
    """A copy, unaffected by later stores."""
    return np.array(values)


def put(array: np.ndarray[Any, Any], indices: Any, values: Any, active: Any) -> None:
    """Store the values of the active lanes."""
    shape = np.broadcast_shapes(*map(np.shape, (*indices, values, active)))
    chosen = np.broadcast_to(active, shape)
    values = np.broadcast_to(np.asarray(values, array.dtype), shape)[chosen]
    if not indices:
        if values.size:
            array[()] = values.flat[-1]
        return
    array[tuple(np.broadcast_to(index, shape)[chosen] for index in indices)] = values


def _rows(values: Any, heights: Sequence[int], counts: Sequence[int]) -> Any:
    """The values with the axes of these heights merged into the last, in the order of the loops."""
    values = np.asarray(values)
    rank = max(values.ndim, *heights)
    shape = [1] * (rank - values.ndim) + list(values.shape)
    for height, count in zip(heights, counts, strict=True):
        shape[-height] = count
    values = np.broadcast_to(values, shape)
    axes = [rank - height for height in heights]
    rest = [axis for axis in range(rank) if axis not in axes]
    kept = [1 if axis in axes else shape[axis] for axis in range(rank)]
    return values.transpose(*rest, *axes).reshape(*kept, math.prod(counts))


def _in_order(ufunc: Any, old: Any, values: Any, *axes: Sequence[int]) -> Any:
    """Fold one after the other, since the order affects rounding."""
    rows = _rows(values, *axes)
    if rows.dtype.kind in "iub":
        return _at_once(ufunc, old, values, *axes)
    if rows.shape[-1] == 0:
        return old
    return in_turn(ufunc, old, rows).reshape(np.shape(old))[()]


def _at_once(ufunc: Any, old: Any, values: Any, *axes: Sequence[int]) -> Any:
    """Fold in any order."""
    rows = _rows(values, *axes)
    if rows.shape[-1] == 0:
        return old
    return ufunc(old, ufunc.reduce(rows, axis=-1, dtype=rows.dtype)).reshape(np.shape(old))[()]


def _extreme(ufunc: Any, choose: Any, old: Any, values: Any, *axes: Sequence[int]) -> Any:
    """Fold by `min` or `max`; the order matters if a value is NaN."""
    rows = _rows(values, *axes)
    if rows.dtype.kind in "iub" or not (np.isnan(rows).any() or np.isnan(old).any()):
        return _at_once(ufunc, old, values, *axes)
    result = old
    for position in range(rows.shape[-1]):
        result = choose(result, rows[..., position])
    return np.reshape(result, np.shape(old))[()]


def fold_product(old: Any, a: Any, b: Any, heights: Sequence[int], counts: Sequence[int]) -> Any:
    """The sum of `old` and of `a * b` along these axes.

    Integers wrap around. Floats are added in the order of the loops, which affects rounding. More
    than `IN_ORDER` products of dtypes in `MATMUL` are added in BLAS's order, unless a sum may be
    infinite in one order but not in another.

    Args:
        heights: axes, counted from the last one, in the order of the loops.
        counts: the lengths of the axes; the operands have these or are broadcast to them.
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
    """Fold `first` and the elements of each row, one after the other."""
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
    if start.dtype.name in MATMUL and products > IN_ORDER and _stays_finite(start, x, y):
        return start + x @ y
    rows = y.transpose(0, 2, 1)
    step = 1 if start.size > SIDE_BY_SIDE else CHUNK // max(1, start.size)
    for k in range(0, x.shape[2], step):
        part = x[:, :, None, k : k + step] * rows[:, None, :, k : k + step]
        start = in_turn(np.add, start, part)
    return start


def _stays_finite(start: Any, x: Any, y: Any) -> bool:
    """True if no sum overflows in any order, so that there is no NaN either."""
    first, one, other = (float(np.abs(each).max(initial=0)) for each in (start, x, y))
    bound: float = first + one * other * x.shape[2]
    return bound < float(np.finfo(start.dtype).max)


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


FOLDS: Mapping[str, Any] = {
    "fold_add": functools.partial(_in_order, np.add),
    "fold_mul": functools.partial(_in_order, np.multiply),
    "fold_min": functools.partial(_extreme, np.minimum, lesser),
    "fold_max": functools.partial(_extreme, np.maximum, greater),
    "fold_and": functools.partial(_at_once, np.logical_and),
    "fold_or": functools.partial(_at_once, np.logical_or),
    "fold_bitand": functools.partial(_at_once, np.bitwise_and),
    "fold_bitor": functools.partial(_at_once, np.bitwise_or),
    "fold_bitxor": functools.partial(_at_once, np.bitwise_xor),
}
"""`fold_*(old, values, heights, lengths)`: `old` folded with all values along these axes."""


NAMES: Mapping[str, Any] = {
    **INTRINSICS,
    **PACKED,
    **FOLDS,
    **{
        function.__name__: function
        for function in (
            *(dims, shaped, mismatch, failed, too_large, alloc, region, offset, view),
            *(span, chunks, own, put, fold_product, undefined),
        )
    },
}
"""Names that generated programs use."""
