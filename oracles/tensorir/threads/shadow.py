"""What the sanitizer knows of memory that threads share: who wrote what, who read it, and when.

Two threads race for an element if both access it, one of them changes it, and nothing puts the
accesses into an order: within a block a barrier does (or, between threads of one warp, a barrier of
the warp), between blocks nothing.

A write that leaves an element as it is changes nothing, whoever writes. So several threads may
write one value to one place, which TVM's schedules do on purpose: a statement that is not bound to
`threadIdx.x` is executed by all threads. CUDA defines that ("if a non-atomic instruction executed
by a warp writes to the same location [...] which thread performs the final write is undefined",
programming guide, SIMT architecture), and ThreadSync counts on it ("Same index value means no
conflicts", thread_storage_sync.cc). Which of two different values remains is defined nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Who:
    """The threads that make accesses, one for each: themselves, and when they do it."""

    thread: Any
    block: Any
    warp: Any
    time: Any
    """Barriers that the block has passed."""
    turn: Any
    """Barriers that the warp has passed."""

    def __getitem__(self, chosen: Any) -> Who:
        fields = (self.thread, self.block, self.warp, self.time, self.turn)
        return Who(*(values[chosen] for values in fields))


class Accesses:
    """The latest accesses of one kind to each element."""

    def __init__(self, size: int) -> None:
        self._last = Who(*(np.full(size, NOBODY, "int64") for _ in range(5)))
        self.several = np.zeros(size, np.bool_)
        """Other threads did the same at that time."""
        self._blocks = np.zeros(size, np.bool_)
        """Other blocks have done the same at any time."""

    def others(self, where: Any, who: Who, *, same: bool = False) -> Any:
        """Where another thread has had access, without an order.

        Args:
            same: several threads have agreed on a value, which this one may be one of.
        """
        last = self._last[where]
        known = last.thread != NOBODY
        here = last.block == who.block
        ordered = (last.warp == who.warp) & (last.turn != who.turn)
        now = here & (last.time == who.time) & ~ordered
        several, blocks = self.several[where], self._blocks[where]
        if same:
            within = (last.thread != who.thread) & ~several
            across = ~here & ~blocks
        else:
            within = (last.thread != who.thread) | several
            across = ~here | blocks
        return known & ((now & within) | across)

    def agree(self, where: Any, who: Who) -> None:
        """Accesses that are made now, to the same effect as the latest ones."""
        again = self.others(where, who)
        self.several[where[again]] = True
        self._blocks[where[again & (self._last[where].block != who.block)]] = True

    def note(self, where: Any, who: Who) -> None:
        """Accesses that are made now."""
        last = self._last[where]
        now = (last.block == who.block) & (last.time == who.time)
        several = now & ((last.thread != who.thread) | self.several[where])
        blocks = (last.thread != NOBODY) & (last.block != who.block)
        for old, new in (
            (self._last.thread, who.thread),
            (self._last.block, who.block),
            (self._last.warp, who.warp),
            (self._last.time, who.time),
            (self._last.turn, who.turn),
        ):
            old[where] = new
        # Of several threads that access an element at once, the last one is noted.
        twice = self._last.thread[where] != who.thread
        self.several[where] = False
        self.several[where[several | twice]] = True
        self._blocks[where[blocks | (self._last.block[where] != who.block)]] = True


class Shadow:
    """What is known of the elements of one array, by their places in its memory.

    Args:
        array: what other arrays may be views of.
        written: its elements have values from the beginning.
        common: threads have it in common.
    """

    def __init__(self, array: np.ndarray[Any, Any], *, written: bool, common: bool) -> None:
        self._begin = _address(array)
        self._grain = array.itemsize
        self._shape = array.shape
        self._size = array.size
        self.known = np.full(self._size, written)
        self.common = common
        self._kernel: Any = None
        self._reads, self._writes = Accesses(0), Accesses(0)

    def marks(self) -> np.ndarray[Any, Any]:
        """Which elements have values."""
        return self.known.reshape(self._shape)

    def places(self, array: np.ndarray[Any, Any], index: tuple[Any, ...], width: int) -> Any:
        """Numbers of the elements of this shadow that an access touches, in a last axis.

        Args:
            array: this one, or a view of it.
            width: scalars that follow each other from the index on.
        """
        begin = _address(array) - self._begin
        byte = begin + sum(i * step for i, step in zip(index, array.strides, strict=False))
        first = np.asarray(byte // self._grain)
        count = max(1, array.itemsize * width // self._grain)
        return first[..., None] + np.arange(count)

    def launched(self, kernel: Any) -> None:
        """Kernels run one after the other: what one has done races with nothing in the next."""
        if self.common and self._kernel is not kernel:
            self._kernel = kernel
            self._reads, self._writes = Accesses(self._size), Accesses(self._size)

    def read(self, where: Any, who: Who) -> Any:
        """Note reads; where they race."""
        wrong = self._writes.others(where, who, same=True)
        self._reads.note(where, who)
        return wrong

    def write(self, where: Any, who: Who, changes: Any) -> Any:
        """Note writes; where they race."""
        wrong = changes & (self._writes.others(where, who) | self._reads.others(where, who))
        self._writes.agree(where[~changes], who[~changes])
        self._writes.note(where[changes], who[changes])
        return wrong


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
