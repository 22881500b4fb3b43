"""Values of calls on large tensors, computed once for all evaluations of this process.

A pass leaves most of a large module unchanged, so its result mostly repeats the module's calls on
the same values. Operands are identified by their contents.

ResNet-18, eight passes that change it, on one core: 19 s instead of 96 s. Values that are computed
faster than hashed are kept as digests only: one evaluation of Swin-T makes more bytes than the
limit, so each value would be dropped before its next use.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import tvm

from ...generators.ops.undefined import arrays

V = TypeVar("V")
Array: TypeAlias = np.ndarray[Any, Any]

LARGE = 1 << 15
"""The least total bytes of operands for results to be kept; below that, hashing costs more than
computing."""

MOST = 1 << 29
"""Limit on the total bytes of kept values; the least recently used ones are dropped."""

FAST = 1e9
"""Bytes per second of CPU time; values made faster are recomputed, since hashing takes as long."""

DIGESTS = 1 << 17
"""Limit on the number of values whose digests are kept: five evaluations of the largest models have
as many calls."""


class _Recent(Generic[V]):
    """A cache that drops the least recently used values above a limit in bytes, never the last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> tuple[V] | None:
        """The value, in a tuple, marked as used now; None if there is none."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][:1]

    def keep(self, key: Hashable, value: V, size: int) -> None:
        """Keep a new value that takes `size` bytes."""
        self._kept[key] = value, size
        self._bytes += size
        while self._bytes > self._most and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._bytes -= gone


class Memo:
    """A cache of values, by the inputs that they are computed from."""

    def __init__(self, most: int = MOST) -> None:
        self._values: _Recent[Any] = _Recent(most)
        self._made: dict[Hashable, list[int]] = {}
        """Digests of the large arrays of each value made so far, in their order."""
        self._digests: dict[int, tuple[weakref.ref[Array], int]] = {}
        """Digests of arrays that nobody writes to, by address."""

    def keeps(self, args: Sequence[Any]) -> bool:
        """True if values computed from these are kept."""
        return _size(args) >= LARGE

    def value(
        self,
        what: Sequence[Hashable],
        args: Sequence[Any],
        make: Callable[[], Any],
        *,
        own: bool = False,
    ) -> Any:
        """The result of `make`, or an earlier result if there is one.

        Args:
            what: identifies the computation.
            args: all other inputs of the computation.
            own: the caller may write to the value; otherwise nobody does.
        """
        if not self.keeps(args):
            return make()
        try:
            key = (*what, *map(self._token, args))
        except TypeError:  # a function, or another value of unknown content
            return make()
        found = self._values.get(key)
        if found is None:
            began = time.thread_time()
            found = (make(),)
            if _size(found) < FAST * (time.thread_time() - began):
                self._values.keep(key, found[0], _size(found))
        if own:
            return copied(found[0])
        large = [array for array in arrays(found) if array.nbytes >= LARGE]
        if len(self._made) > DIGESTS:
            self._made.clear()
        known = self._made.get(key, [None] * len(large))
        self._made[key] = [self.fixed(*each) for each in zip(large, known, strict=True)]
        return found[0]

    def fixed(self, array: Array, digest: int | None = None) -> int:
        """The digest of a large array that nobody writes to: its contents are hashed once.

        Args:
            digest: None: not known.
        """
        address = id(array)
        if address not in self._digests:
            forget = self._digests.pop
            there = weakref.ref(array, lambda _: forget(address, None))
            self._digests[address] = there, _digest(array) if digest is None else digest
        return self._digests[address][1]

    def _token(self, value: Any) -> Hashable:
        if isinstance(value, np.ndarray):
            known = self._digests.get(id(value))
            digest = _digest(value) if known is None or known[0]() is not value else known[1]
            return str(value.dtype), value.shape, digest
        if isinstance(value, tuple | list):
            return tuple(map(self._token, value))
        if value is None or isinstance(value, bool | int | float | str):
            return type(value), repr(value)
        raise TypeError(type(value))


def copied(value: Any) -> Any:
    """A copy of the values that shares no memory with them."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple | list):
        return tuple(map(copied, value))
    return value


def _size(values: Sequence[Any]) -> int:
    """The bytes of all tensors."""
    return sum(array.nbytes for array in arrays(values))


def _digest(array: Array) -> int:
    # Python's own hash of bytes: 64 bits, and four times as fast as blake2b with 128.
    return hash(np.ascontiguousarray(array).tobytes())


class Constants:
    """The tensors of constants as arrays; large ones share the memory of their tensor."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._known: _Recent[tuple[tvm.runtime.Tensor, Array]] = _Recent(MOST)
        """Arrays by the address of their tensor, which is kept alive."""

    def array(self, tensor: tvm.runtime.Tensor) -> Array:
        """The array of a tensor, which the module must not change any more."""
        address = hash(tensor)
        if (known := self._known.get(address)) is not None:
            return known[0][1]
        array: Array = tensor.numpy()
        if array.nbytes >= LARGE:
            array.flags.writeable = False
            self._memo.fixed(array)
            self._known.keep(address, (tensor, array), array.nbytes)
        return array


memo = Memo()
"""The cache of this process."""

constants = Constants(memo)
