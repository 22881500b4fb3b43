"""What generated programs call beside intrinsics: arguments, allocations, views, budgets."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ..errors import Mismatch, TooLarge, Undefined
from .contraction import CHUNK, fold_product, in_turn
from .intrinsics import NAMES as INTRINSICS
from .intrinsics import greater, lesser
from .packed import NAMES as PACKED

ELEMENTS = 1 << 28
"""The largest buffer that a program may allocate."""


def dims(array: Any, dtype: Any, rank: int) -> tuple[int, ...]:
    """The shape of an argument.

    Raises:
        Mismatch: it is no array of this dtype and rank.
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != rank:
        raise Mismatch(f"Expected {np.dtype(dtype)} of rank {rank} but got {_described(array)}")
    shape: tuple[int, ...] = array.shape
    return shape


def shaped(array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Check an argument whose shape is known.

    Raises:
        Mismatch: it is no array of this dtype and shape.
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
    """A new buffer, full of NaN or of a large number, as it is not written yet."""
    size = 1
    for dim in shape:
        size *= dim
    if size > ELEMENTS:
        raise TooLarge(f"a buffer of {size} elements")
    if any(dim < 0 for dim in shape):
        raise Undefined(f"a buffer of shape {shape}")
    return np.full(shape, _poison(np.dtype(dtype)), dtype)


def _poison(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max // 3
    return ml_dtypes.finfo(dtype).max if dtype.name == "float8_e4m3fn" else np.nan


def region(
    array: np.ndarray[Any, Any], ranges: Sequence[tuple[int, int]], shape: Sequence[int]
) -> np.ndarray[Any, Any]:
    """A part of a buffer, seen in a shape of perhaps fewer axes."""
    for (begin, extent), size in zip(ranges, array.shape, strict=True):
        if begin < 0 or begin + extent > size:
            raise Undefined(f"region [{begin}, {begin + extent}) of a dimension of {size}")
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
    """How many elements lie before a view in what it is a view of."""
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
    try:
        return np.ndarray(tuple(shape), dtype, array.data, begin * size, steps)
    except (TypeError, ValueError) as error:
        raise Undefined(f"a view that leaves its memory: {error}") from error


@functools.lru_cache(maxsize=4096)
def span(begin: int, end: int, height: int, dtype: Any, step: int = 1) -> Any:
    """The values of a loop variable, along the axis that has `height - 1` axes behind it."""
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
    """A copy: what is stored later does not change it."""
    return np.array(values)


def put(array: np.ndarray[Any, Any], indices: Any, values: Any, active: Any) -> None:
    """A store by the lanes that are active."""
    shape = np.broadcast_shapes(*map(np.shape, (*indices, values, active)))
    chosen = np.broadcast_to(active, shape)
    values = np.broadcast_to(np.asarray(values, array.dtype), shape)[chosen]
    array[tuple(np.broadcast_to(index, shape)[chosen] for index in indices)] = values


def _rows(values: Any, heights: Sequence[int], counts: Sequence[int]) -> Any:
    """The values with the axes of these heights last and made one, in the order of the loops."""
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
    """A fold one after the other, which rounding depends on."""
    rows = _rows(values, *axes)
    if rows.dtype.kind in "iub":
        return _at_once(ufunc, old, values, *axes)
    if rows.shape[-1] == 0:
        return old
    return in_turn(ufunc, old, rows).reshape(np.shape(old))[()]


def _at_once(ufunc: Any, old: Any, values: Any, *axes: Sequence[int]) -> Any:
    """A fold whose order does not matter."""
    rows = _rows(values, *axes)
    if rows.shape[-1] == 0:
        return old
    return ufunc(old, ufunc.reduce(rows, axis=-1, dtype=rows.dtype)).reshape(np.shape(old))[()]


def _extreme(ufunc: Any, choose: Any, old: Any, values: Any, *axes: Sequence[int]) -> Any:
    """A fold by `min` or `max`, whose order matters where one is NaN."""
    rows = _rows(values, *axes)
    if rows.dtype.kind in "iub" or not (np.isnan(rows).any() or np.isnan(old).any()):
        return _at_once(ufunc, old, values, *axes)
    result = old
    for position in range(rows.shape[-1]):
        result = choose(result, rows[..., position])
    return np.reshape(result, np.shape(old))[()]


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
"""`fold_*(old, values, heights, lengths)`: `old` and all values along these axes in one."""


NAMES: Mapping[str, Any] = {
    **INTRINSICS,
    **PACKED,
    **FOLDS,
    "fold_product": fold_product,
    **{
        function.__name__: function
        for function in (
            *(dims, shaped, mismatch, failed, too_large, alloc, region, offset, view),
            *(span, chunks, own, put),
        )
    },
}
"""What generated programs see."""
