"""Shadow of memory that threads share: the last writer and reader of each element, and the times.

Two threads race for an element if both access it, one of them changes it, and nothing orders the
accesses. Within a block a barrier orders them (or, between threads of one warp, a barrier of the
warp); between blocks nothing does.

A write that leaves an element unchanged has no effect. So several threads may write the same value
to one place, as TVM's schedules do on purpose: a statement that is not bound to `threadIdx.x` is
executed by all threads. CUDA defines that ("if a non-atomic instruction executed by a warp writes
to the same location [...] which thread performs the final write is undefined", programming guide,
SIMT architecture), and ThreadSync counts on it ("Same index value means no conflicts",
thread_storage_sync.cc). No document defines which of two different values remains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOBODY = -1

TURN = 32
"""Bits of a time that count barriers of the warp; higher bits count barriers of the block."""


class Who(NamedTuple):
    """The thread of each access, and its time."""

    thread: Any
    time: Any
    threads: int
    """Number of threads of a block."""
    warp: int
    """Number of threads of a warp."""

    def at(self, chosen: Any) -> Who:
        return self._replace(thread=self.thread[chosen], time=self.time[chosen])


class Accesses:
    """The latest accesses of one kind to each element."""

    def __init__(self, size: int) -> None:
        self._thread = np.full(size, NOBODY, "int64")
        self._time = np.zeros(size, "int64")
        self._several = np.zeros(size, np.bool_)
        """Marks of elements on which other threads did the same at that time."""
        self._blocks = np.zeros(size, np.bool_)
        """Marks of elements on which other blocks did the same at any time."""

    def others(self, where: Any, who: Who, *, same: bool = False) -> Any:
        """A mask of elements that another thread has accessed, without an order.

        Args:
            same: several threads have written an equal value, perhaps including this one.
        """
        last, time = self._thread[where], self._time[where]
        here = last // who.threads == who.thread // who.threads
        now = here & (time >> TURN == who.time >> TURN)
        several, blocks = self._several[where], self._blocks[where]
        other = last != who.thread
        within = other & ~several if same else other | several
        across = ~here & ~blocks if same else ~here | blocks
        wrong = (last != NOBODY) & ((now & within) | across)
        if wrong.any():
            warps = last % who.threads // who.warp == who.thread % who.threads // who.warp
            wrong &= ~(here & warps & (time != who.time))
        return wrong

    def agree(self, where: Any, who: Who) -> None:
        """Note accesses made now, with the same effect as the latest ones."""
        again = where[self.others(where, who)]
        if again.size:
            self._several[again] = True
            self._blocks[again] = True

    def note(self, where: Any, who: Who) -> None:
        """Note accesses made now."""
        last = self._thread[where]
        others = (last != who.thread) | self._several[where]
        if others.any():
            here = last // who.threads == who.thread // who.threads
            now = here & (self._time[where] >> TURN == who.time >> TURN)
            several = now & others
            blocks = ~here & (last != NOBODY)
            self._thread[where] = who.thread
            # If several threads access an element at once, the last one is noted.
            final = self._thread[where]
            self._several[where] = False
            self._several[where[several | (final != who.thread)]] = True
            self._blocks[where[blocks | (final // who.threads != who.thread // who.threads)]] = True
        self._time[where] = who.time


class Shadow:
    """The state of the elements of one array, by their places in its memory.

    Args:
        array: the array, of which other arrays may be views.
        written: True if its elements have values from the beginning.
        common: True if threads share it.
        races: True if all necessary barriers are present. If not, statements run one by one.
    """

    def __init__(
        self, array: np.ndarray[Any, Any], *, written: bool, common: bool, races: bool
    ) -> None:
        self._begin = _address(array)
        self._grain = array.itemsize
        self._shape = array.shape
        self.known = np.full(array.size, written)
        self.common = common
        self.races = races
        self._kernel: Any = None
        self._reads, self._writes = Accesses(0), Accesses(0)
        self._views: dict[int, tuple[Any, int]] = {}

    def marks(self) -> np.ndarray[Any, Any]:
        """A mask of the elements that have values."""
        return self.known.reshape(self._shape)

    def places(self, array: np.ndarray[Any, Any], index: tuple[Any, ...]) -> Any:
        """The numbers of an array's elements here; for each element the first number.

        Args:
            array: this array, or a view of it.
        """
        if id(array) not in self._views:
            # The array is kept alive, so that no other array gets its id.
            self._views[id(array)] = array, _address(array) - self._begin
        byte: Any = self._views[id(array)][1]
        for i, step in zip(index, array.strides, strict=False):
            byte = byte + i * step
        return byte // self._grain

    def count(self, array: np.ndarray[Any, Any], width: int) -> int:
        """The number of shadow entries for an element of `width` scalars."""
        return max(1, array.itemsize * width // self._grain)

    def launched(self, kernel: Any) -> None:
        """Note the kernel: kernels run one after another, so accesses from two never race."""
        if self._kernel is not kernel:
            self._kernel = kernel
            self._reads, self._writes = (Accesses(self.known.size) for _ in range(2))

    def read(self, where: Any, who: Who) -> Any:
        """Note reads, and return a mask of those that race."""
        wrong = self._writes.others(where, who, same=True)
        self._reads.note(where, who)
        return wrong

    def write(self, where: Any, who: Who, changes: Any) -> Any:
        """Note writes, and return a mask of those that race."""
        if changes.all():
            wrong = self._writes.others(where, who) | self._reads.others(where, who)
            self._writes.note(where, who)
            return wrong
        self._writes.agree(where[~changes], who.at(~changes))
        wrong = np.zeros(changes.shape, np.bool_)
        wrong[changes] = self.write(where[changes], who.at(changes), changes[changes])
        return wrong


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
