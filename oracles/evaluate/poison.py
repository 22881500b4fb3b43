"""Memory that nobody has written to yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TooLarge, Undefined

PATTERN = 0x7F
"""Every byte of it: huge floats and integers, and NaN in float16, so that a read shows."""

MAX_BYTES = 1 << 28


def poisoned(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new tensor with no meaningful values.

    Raises:
        TooLarge: it would take more than `MAX_BYTES`.
        Undefined: a size is negative.
    """
    if any(size < 0 for size in shape):
        raise Undefined(f"a tensor of shape {tuple(shape)}")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BYTES:
        raise TooLarge(f"a tensor of {size} bytes")
    return np.full(size, PATTERN, "uint8").view(dtype).reshape(tuple(shape))
