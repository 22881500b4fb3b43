"""Functions of TVM's runtime that PrimFuncs call by name: sorting, over arrays on the stack.

Equal elements keep their order, even in a descending sort. NaN is refused, since its position
depends on the algorithm.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import Undefined, Unsupported


def sorted_indices(data: Any, axis: int, ascending: bool) -> Any:
    """The indices that sort an axis."""
    if data.dtype.kind not in "iub" and np.isnan(data).any():
        raise Unsupported("sort of NaN")
    axis = _axis(data, axis)
    if ascending:
        return np.argsort(data, axis, kind="stable")
    # Reversing an ascending sort of the reversed data keeps the order of equal elements.
    backward = np.argsort(np.flip(data, axis), axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(backward, axis)


def argsort(data: Any, out: Any, axis: int, ascending: bool) -> None:
    """`tvm.contrib.sort.argsort`."""
    out[...] = sorted_indices(data, axis, ascending)


def sort(data: Any, out: Any, axis: int, ascending: bool) -> None:
    """`tvm.contrib.sort.sort`."""
    indices = sorted_indices(data, axis, ascending)
    out[...] = np.take_along_axis(data, indices, _axis(data, axis))


def topk(data: Any, *rest: Any) -> None:
    """`tvm.contrib.sort.topk`: data, one or two outputs, k, axis, which outputs, ascending."""
    *outs, k, axis, kind, ascending = rest
    axis = _axis(data, axis)
    size = data.shape[axis]
    indices = sorted_indices(data, axis, ascending)
    indices = np.take(indices, range(min(k, size) if k >= 1 else size), axis)
    results = {"values": np.take_along_axis(data, indices, axis), "indices": indices}
    for out, name in zip(outs, ("values", "indices") if kind == "both" else (kind,), strict=True):
        if out.shape != results[name].shape:
            raise Undefined(f"the {k} largest of {size} elements")
        out[...] = results[name]


def argsort_nms(data: Any, counts: Any, out: Any, axis: int, ascending: bool) -> None:
    """`tvm.contrib.sort.argsort_nms`: the first elements of each row sorted, the others kept."""
    axis = _axis(data, axis)
    rows, indices = np.moveaxis(data, axis, -1), np.moveaxis(out, axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        count = int(counts.reshape(rows.shape[:-1])[place])
        if not 0 <= count <= rows.shape[-1]:
            raise Undefined(f"a sort of {count} elements of {rows.shape[-1]}")
        indices[place] = np.arange(rows.shape[-1])
        indices[place][:count] = sorted_indices(rows[place][:count], 0, ascending)


def _axis(data: Any, axis: int) -> int:
    return axis + data.ndim if axis < 0 else axis


PACKED: Mapping[str, tuple[Callable[..., None], tuple[int, ...]]] = {
    "tvm.contrib.sort.argsort": (argsort, (1,)),
    "tvm.contrib.sort.sort": (sort, (1,)),
    "tvm.contrib.sort.topk": (topk, (1, 2)),
    "tvm.contrib.sort.argsort_nms": (argsort_nms, (2,)),
}
"""Packed functions by name: our implementation, and the positions of the arrays it writes."""


def _where_defined(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def call(*args: Any) -> None:
        try:
            function(*args)
        except (IndexError, TypeError, ValueError) as error:
            reason = f"arguments that {function.__name__} is not defined for: {error}"
            raise Unsupported(reason) from error

    return call


NAMES = {f"packed_{function.__name__}": _where_defined(function) for function, _ in PACKED.values()}
