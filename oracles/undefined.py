"""Operands for which an operator has no defined result: neither NumPy nor a VM is wrong there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..generators.ops.record import Op

LARGE = {"int32": 1 << 15, "int64": 1 << 31}
"""Beyond it a product may overflow. LLVM is told that signed 32 and 64 bit integers do not."""


def undefined(op: Op, args: Sequence[Any], result: Any) -> bool:
    """The operator promises nothing for these operands, or this result may have overflowed."""
    tensors = [arg for arg in args if isinstance(arg, np.ndarray)]
    special = _SPECIAL.get(op.name)
    if special is not None and special(tensors):
        return True
    # A conversion between floats is defined everywhere, one to integers in the op's domain only.
    if not (op.name == "astype" and _is_float(result)):
        low, high = op.domain
        for tensor in filter(_is_float, tensors):
            if tensor.size and not (low <= tensor.min() and tensor.max() <= high):
                return True
    return any(_large(part) for part in (result if isinstance(result, tuple) else (result,)))


def _large(value: Any) -> bool:
    bound = LARGE.get(str(getattr(value, "dtype", "")))
    return bound is not None and bool(value.size) and int(np.abs(value).max()) > bound


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def _divisor(tensors: Sequence[Any]) -> bool:
    return any(t.dtype.kind in "iu" and bool((t == 0).any()) for t in tensors[1:])


def _shift(tensors: Sequence[Any]) -> bool:
    return any(bool(((t < 0) | (t >= 8 * t.dtype.itemsize)).any()) for t in tensors[1:])


def _index(tensors: Sequence[Any]) -> bool:
    """Negative indices; for those past the end NumPy raises."""
    return any(t.dtype.kind == "i" and bool((t < 0).any()) for t in tensors[1:])


_SPECIAL: Mapping[str, Callable[[Sequence[Any]], bool]] = {
    **dict.fromkeys(("divide", "floor_divide", "mod", "floor_mod"), _divisor),
    **dict.fromkeys(("left_shift", "right_shift"), _shift),
    **dict.fromkeys(
        ("take", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "index_tensor"),
        _index,
    ),
}
