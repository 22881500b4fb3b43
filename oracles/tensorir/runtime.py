"""What generated programs call beside intrinsics: arguments, allocations, views, budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ..errors import Mismatch, TooLarge, Undefined
from .intrinsics import NAMES as INTRINSICS

ELEMENTS = 1 << 28
"""The largest buffer that a program may allocate."""


def dims(array: Any, dtype: Any, rank: int) -> tuple[int, ...]:
    """The shape of an argument.

    Raises:
        Mismatch: it is no array of this dtype and rank.
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != rank:
        got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else repr(array)
        raise Mismatch(f"Expected {np.dtype(dtype)} of rank {rank} but got {got}")
    shape: tuple[int, ...] = array.shape
    return shape


def mismatch(size: int, expected: str) -> NoReturn:
    raise Mismatch(f"Expected a dimension of {expected} but got {size}")


def failed(message: str) -> NoReturn:
    raise Mismatch(f"Assertion failed: {message}")


def too_large() -> NoReturn:
    raise TooLarge("more iterations than the budget of the program")


def alloc(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A new buffer, full of NaN or of a large number: nobody has written it yet."""
    size = 1
    for dim in shape:
        size *= dim
    if size > ELEMENTS:
        raise TooLarge(f"a buffer of {size} elements")
    if size < 0:
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


NAMES: Mapping[str, Any] = {
    **INTRINSICS,
    **{
        function.__name__: function
        for function in (dims, mismatch, failed, too_large, alloc, region, offset, view)
    },
}
"""What generated programs see."""
