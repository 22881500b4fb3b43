"""Values of calls on large tensors, computed once for all evaluations of this process.

A pass leaves most of a large module as it is, so that its result mostly makes the calls of the
module again, on the same values. Operands are told apart by their contents.

ResNet-18, eight passes that change it, on one core: 19 s instead of 96 s.
"""

from __future__ import annotations

import hashlib
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
"""Bytes of operands together from which on a call is kept: to hash fewer costs more than to
compute."""

MOST = 1 << 29
"""Bytes of all values that are kept; the least recently used ones go."""


class _Recent(Generic[V]):
    """Values that take no more than so many bytes, but for the last one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> tuple[V] | None:
        """The value, in a tuple, which is used now; None where there is none."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][:1]

    def keep(self, key: Hashable, value: V, size: int) -> None:
        """Keep a new value of so many bytes."""
        self._kept[key] = value, size
        self._bytes += size
        while self._bytes > self._most and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._bytes -= gone


class Memo:
    """Values by what they are computed from."""

    def __init__(self, most: int = MOST) -> None:
        self._values: _Recent[Any] = _Recent(most)
        self._digests: dict[int, tuple[weakref.ref[Array], bytes]] = {}
        """By address, of arrays that nobody writes to."""

    def keeps(self, args: Sequence[Any]) -> bool:
        """Values that are computed from these are kept."""
        return _size(args) >= LARGE

    def value(
        self,
        what: Sequence[Hashable],
        args: Sequence[Any],
        make: Callable[[], Any],
        *,
        own: bool = False,
    ) -> Any:
        """The result of `make`, or an earlier one if there is one.

        Args:
            what: identifies what is computed.
            args: all that it is computed from besides.
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
            found = (make(),)
            self._values.keep(key, found[0], _size(found))
        if own:
            return copied(found[0])
        for array in arrays(found):
            self.fixed(array)
        return found[0]

    def fixed(self, array: Array) -> None:
        """Nobody writes to this array: its contents are hashed once."""
        if array.nbytes >= LARGE and id(array) not in self._digests:
            forget = self._digests.pop
            address = id(array)
            there = weakref.ref(array, lambda _: forget(address, None))
            self._digests[address] = there, _digest(array)

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
    """The same values in memory of their own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple | list):
        return tuple(map(copied, value))
    return value


def _size(values: Sequence[Any]) -> int:
    """The bytes of all tensors."""
    return sum(array.nbytes for array in arrays(values))


def _digest(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).digest()


class Constants:
    """The tensors of constants as arrays, which share their memory where they are large."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._known: _Recent[tuple[tvm.runtime.Tensor, Array]] = _Recent(MOST)
        """By address of the tensor, which lives as long."""

    def array(self, tensor: tvm.runtime.Tensor) -> Array:
        """The array of a tensor, which the module may change no more."""
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
"""That of this process."""

constants = Constants(memo)
