"""The threads of a launched kernel as lanes of NumPy, and the operations of several threads.

A lane is a thread. The threads of one block are adjacent, with `threadIdx.x` fastest, the order in
which CUDA forms warps. Virtual threads belong to their block, but form separate warps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import Undefined
from ..runtime import CHUNK, MEMORY, poison

PER_STEP = 100
"""Number of lanes that count as one iteration."""

CALLS = 8
"""The additional steps for an iteration of all lanes: each operation in it is a call of NumPy."""

AXES = ("z", "y", "x")
"""The axes of blocks and threads, the slowest first."""


class Grid:
    """A launched kernel.

    Attributes:
        lane: the numbers of the lanes that run now.
        group: the block of each lane, counted from the first block that runs now.
        copy: the same, with virtual threads counted separately.
        size: the number of lanes.
        blocks: the number of blocks that run now.
        virtual: the number of virtual threads in a block.
        weight: the number of steps of one iteration of all lanes.
    """

    calls = CALLS

    def __init__(self, extents: Mapping[str, int], held: int) -> None:
        """Args: the extents by tag, and about how many scalars each thread holds in memory."""
        self._extents = extents
        if any(size < 0 for size in extents.values()):
            raise Undefined(f"a launch of {extents}")
        self._outer = self._tags("blockIdx")
        self._inner = self._tags("threadIdx")
        self._virtual = sorted(tag for tag in extents if tag.startswith("vthread"))
        self.virtual = self._count(self._virtual)
        self.threads = self._count(self._inner)
        self._all = self._count(self._outer)
        self._at_once = max(1, min(CHUNK, MEMORY // max(1, held)) // self._in_block)

    def _tags(self, kind: str) -> list[str]:
        return [f"{kind}.{axis}" for axis in AXES if f"{kind}.{axis}" in self._extents]

    def _count(self, tags: Sequence[str]) -> int:
        return math.prod(self._extents[tag] for tag in tags)

    @property
    def _in_block(self) -> int:
        return max(1, self.virtual * self.threads)

    def chunks(self) -> Iterator[tuple[Any, Any, Any]]:
        """Run as many blocks at once as memory allows; yield their `lane`, `group` and `copy`."""
        if not self.virtual * self.threads:
            return
        for first in range(0, self._all, self._at_once):
            self.first = first
            self.blocks = min(self._at_once, self._all - first)
            self.size = self.blocks * self._in_block
            self.weight = self.calls + self.size // PER_STEP
            self.lane = np.arange(self.size)
            self.group = self.lane // self._in_block
            self.copy = self.lane // self.threads
            yield self.lane, self.group, self.copy

    def axis(self, tag: str, dtype: Any) -> Any:
        """The value of a thread variable in each lane."""
        for tags, numbers in (
            (self._outer, self.first + self.group),
            (self._inner, self.lane % self.threads),
            (self._virtual, self.copy % self.virtual),
        ):
            if tag in tags:
                inner = self._count(tags[tags.index(tag) + 1 :])
                return (numbers // inner % self._extents[tag]).astype(dtype)
        raise AssertionError(tag)

    def first_of_row(self) -> Any:
        """For each lane, the first lane that differs from it in `threadIdx.x` only."""
        return self.lane - self.lane % self._extents.get("threadIdx.x", 1)

    def allreduce(
        self,
        combine: Callable[..., tuple[Any, ...]],
        identity: Sequence[Any],
        values: Sequence[Any],
        condition: Any,
        tags: Sequence[str],
    ) -> list[Any]:
        """The values of the threads along some axes, combined, in each of these threads.

        Args:
            combine: combines two operands for each result, all left ones first.
            identity: the values for threads without the condition.
        """
        rows = [self._rows(v, e, condition, tags) for v, e in zip(values, identity, strict=True)]
        while rows[0].shape[-1] > 1:
            half = (rows[0].shape[-1] + 1) // 2
            rest = rows[0].shape[-1] - half
            left = [row[..., :rest] for row in rows]
            right = [row[..., half:] for row in rows]
            both = combine(*left, *right)
            rows = [
                np.concatenate([each, row[..., rest:half]], -1)
                for each, row in zip(both, rows, strict=True)
            ]
        return [self._repeated(row, tags) for row in rows]

    def _dims(self, tags: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
        """The extents of all lane axes; the axes with these tags; the other axes."""
        names = [*self._virtual, *self._inner]
        dims = [self.blocks, *(self._extents[name] for name in names)]
        along = [1 + names.index(tag) for tag in tags if tag in names]
        return dims, along, [axis for axis in range(len(dims)) if axis not in along]

    def _rows(self, value: Any, identity: Any, condition: Any, tags: Sequence[str]) -> Any:
        value = np.asarray(value)
        chosen = np.where(condition, value, np.asarray(identity).astype(value.dtype))
        dims, along, rest = self._dims(tags)
        lanes = np.broadcast_to(chosen, self.size).reshape(dims).transpose(*rest, *along)
        return lanes.reshape(*(dims[axis] for axis in rest), -1)

    def _repeated(self, row: Any, tags: Sequence[str]) -> Any:
        dims, along, rest = self._dims(tags)
        order = np.argsort([*rest, *along])
        shape = [*(dims[axis] for axis in rest), *(dims[axis] for axis in along)]
        ones = row.reshape([*(dims[axis] for axis in rest), *(1 for _ in along)])
        return np.broadcast_to(ones, shape).transpose(order).reshape(-1)

    def shuffled(
        self, kind: str, value: Any, offset: Any, width: Any, warp: int, active: Any = True
    ) -> Any:
        """The value of another thread of the warp, as by CUDA's `__shfl_sync` and its variants.

        The value of a thread that does not take part is undefined.
        """
        value = np.broadcast_to(np.asarray(value), self.size)
        source, present = self.sources(kind, offset, width, warp, active)
        return np.where(present, value[source], poison(value.dtype))

    def sources(
        self, kind: str, offset: Any, width: Any, warp: int, active: Any = True
    ) -> tuple[Any, Any]:
        """The lane that each lane reads, and whether that lane takes part."""
        offset, width = (np.asarray(each).astype("int64") for each in (offset, width))
        thread = self.lane % self.threads
        part = thread % warp % width
        wanted = {"": offset % width, "_up": part - offset, "_down": part + offset}[kind]
        wanted = np.where((wanted < 0) | (wanted >= width), part, wanted)
        source = thread + wanted - part
        present = source < self.threads
        lane = np.where(present, self.lane + wanted - part, self.lane)
        return lane, present & np.broadcast_to(active, self.size)[lane]

    def ballot(self, warp: int, active: Any = True) -> Any:
        """The threads of each warp that take part, as bits."""
        thread = self.lane % self.threads
        bits = np.broadcast_to(active, self.size).astype("uint32") << (thread % warp % 32).astype(
            "uint32"
        )
        number = self.copy * (self.threads // warp + 1) + thread // warp
        masks = np.zeros(int(number.max()) + 1, "uint32")
        np.bitwise_or.at(masks, number, bits)
        return masks[number]


def views(
    array: np.ndarray[Any, Any],
    dtype: Any,
    shape: Sequence[int],
    strides: Sequence[int],
    begin: int,
) -> np.ndarray[Any, Any]:
    """The memory of a buffer as another dtype and shape, in each of its copies.

    Raises:
        Undefined: it does not fit into the memory.
    """
    size = np.dtype(dtype).itemsize
    copies = array.shape[0]
    memory = array.reshape(copies, -1).view("uint8")
    dims = tuple(shape)
    steps = tuple(stride * size for stride in strides)
    if not steps:
        steps = tuple(size * math.prod(dims[axis + 1 :]) for axis in range(len(dims)))
    last = sum((dim - 1) * step for dim, step in zip(dims, steps, strict=True)) + size
    if begin * size + last > memory.shape[1]:
        raise Undefined("a view that leaves its memory")
    row = memory.shape[1]
    return np.ndarray((copies, *dims), dtype, memory.data, begin * size, (row, *steps))


def lowest(values: Any, active: Any = True) -> int:
    """The smallest value of the lanes that are active; 0 if there are none."""
    return _extreme(np.min, values, active)


def highest(values: Any, active: Any = True) -> int:
    """The largest value of the lanes that are active; 0 if there are none."""
    return _extreme(np.max, values, active)


def _extreme(choose: Callable[[Any], Any], values: Any, active: Any) -> int:
    values, active = np.broadcast_arrays(values, active)
    chosen = values[active]
    return int(choose(chosen)) if chosen.size else 0


NAMES: Mapping[str, Any] = {
    "Grid": Grid,
    "copyto": np.copyto,
    **{function.__name__: function for function in (views, lowest, highest)},
}
"""Names for kernels that generated programs use."""
