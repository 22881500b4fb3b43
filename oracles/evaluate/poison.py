"""Memory that has not been written yet."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import TooLarge, Undefined
from ..tensorir.runtime import PATTERN

MAX_BYTES = 1 << 28
"""Limit for one tensor, and for all memory that one evaluation allocates: modules whose sizes have
upper bounds plan for these bounds."""

_LEFT: ContextVar[list[int] | None] = ContextVar("LEFT", default=None)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Limit the tensors made meanwhile to `MAX_BYTES` in total."""
    token = _LEFT.set([MAX_BYTES])
    try:
        yield
    finally:
        _LEFT.reset(token)


def poisoned(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new tensor with no meaningful values.

    Raises:
        TooLarge: it would take more than `MAX_BYTES`, or more than is left of the limit.
        Undefined: a size is negative.
    """
    if any(size < 0 for size in shape):
        raise Undefined(f"a tensor of shape {tuple(shape)}")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BYTES:
        raise TooLarge(f"a tensor of {size} bytes")
    if (left := _LEFT.get()) is not None:
        left[0] -= size
        if left[0] < 0:
            raise TooLarge(f"more than {MAX_BYTES} bytes of tensors")
    memory = np.full(size, PATTERN.get(), "uint8")
    _FRESH[id(memory)] = memory
    return memory.view(dtype).reshape(tuple(shape))


def filled(dtype: np.dtype[Any]) -> Any:
    """A number in place of one that was never computed."""
    return np.full(dtype.itemsize, PATTERN.get(), "uint8").view(dtype)[0]


def fresh(value: Any) -> bool:
    """True for a tensor in memory made by `poisoned` and never written.

    The contents cannot tell: a tensor of 8-bit 127s looks the same.
    """
    return isinstance(value, np.ndarray) and _FRESH.get(id(owner := _owner(value))) is owner


def touch(array: np.ndarray[Any, Any]) -> None:
    """Record a write to a tensor."""
    _FRESH.pop(id(_owner(array)), None)


_FRESH: weakref.WeakValueDictionary[int, np.ndarray[Any, Any]] = weakref.WeakValueDictionary()
"""Arrays that own unwritten memory, by address."""


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
