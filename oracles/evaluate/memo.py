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
from typing import Any, TypeAlias

import numpy as np
import tvm

Array: TypeAlias = np.ndarray[Any, Any]

LARGE = 1 << 15
"""Bytes of operands together from which on a call is kept: to hash fewer costs more than to
compute."""

MOST = 1 << 29
"""Bytes of all values that are kept; the least recently used ones go."""


class Memo:
    """Values by what they are computed from."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._digests: dict[int, tuple[weakref.ref[Array], bytes]] = {}
        """By address, of arrays that nobody writes to."""

    def value(
        self,
        what: Sequence[Hashable],
        args: Sequence[Any],
        make: Callable[[], Any],
        *,
        own: bool = False,
    ) -> Any:
        """What `make` gives, an earlier value if there is one.

        Args:
            what: identifies what is computed.
            args: all that it is computed from besides.
            own: the caller may write to the value; otherwise nobody does.
        """
        if sum(array.nbytes for array in _arrays(args)) < LARGE:
            return make()
        try:
            key = (*what, *map(self._token, args))
        except TypeError:  # a function, or another value of unknown content
            return make()
        if key in self._values:
            self._values.move_to_end(key)
        else:
            self._keep(key, make())
        made = self._values[key][0]
        if own:
            return _copied(made)
        for array in _arrays([made]):
            self.fixed(array)
        return made

    def fixed(self, array: Array) -> None:
        """Nobody writes to this array: its contents are hashed once."""
        if array.nbytes >= LARGE and id(array) not in self._digests:
            forget = self._digests.pop
            address = id(array)
            there = weakref.ref(array, lambda _: forget(address, None))
            self._digests[address] = there, _digest(array)

    def _keep(self, key: Hashable, made: Any) -> None:
        size = sum(array.nbytes for array in _arrays([made]))
        self._values[key] = made, size
        self._bytes += size
        while self._bytes > self._most and len(self._values) > 1:
            _, (_, size) = self._values.popitem(last=False)
            self._bytes -= size

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


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _digest(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).digest()


def _arrays(values: Sequence[Any]) -> list[Array]:
    found: list[Array] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += _arrays(value)
    return found


class Constants:
    """The tensors of constants as arrays, which share their memory where they are large."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._known: OrderedDict[int, tuple[tvm.runtime.Tensor, Array]] = OrderedDict()
        """By address of the tensor, which lives as long."""
        self._bytes = 0

    def array(self, tensor: tvm.runtime.Tensor) -> Array:
        """The array of a tensor, which the module may change no more."""
        address = hash(tensor)
        if address not in self._known:
            array: Array = tensor.numpy()
            if array.nbytes < LARGE:
                return array
            array.flags.writeable = False
            self._memo.fixed(array)
            self._known[address] = tensor, array
            self._bytes += array.nbytes
            while self._bytes > MOST and len(self._known) > 1:
                _, (_, gone) = self._known.popitem(last=False)
                self._bytes -= gone.nbytes
        self._known.move_to_end(address)
        return self._known[address][1]


memo = Memo()
"""That of this process."""

constants = Constants(memo)
