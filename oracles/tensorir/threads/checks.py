"""Checks that sanitized kernels call: every access of all lanes, every barrier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import Undefined
from ..intrinsics import divisor, shift
from ..sanitizer.runtime import (
    CONVERSION,
    DIVERGENT,
    DIVISION,
    OVERFLOW,
    RACE,
    READ_OUTSIDE,
    SHIFT,
    UNINITIALISED,
    WRITE_OUTSIDE,
    Trap,
)
from .grid import Grid
from .shadow import TURN, Shadow, Who


@dataclass(frozen=True, slots=True)
class LaneElements:
    """Elements of an array: one for each lane, or one for each scalar of each lane's vector."""

    array: Any
    copied: bool
    """True if the first index is that of a copy."""
    index: tuple[Any, ...]
    shape: tuple[int, ...]
    active: Any
    """The mask of the elements that are accessed, or True for all."""

    @property
    def width(self) -> int:
        """The number of scalars of an element."""
        return int(self.array.shape[-1]) if self.array.ndim > len(self.index) else 1

    def chosen(self, values: Any) -> Any:
        """The values for the accessed elements, one after the other."""
        values = np.asarray(values)
        shape = (*self.shape, *values.shape[len(self.shape) :])
        if values.shape != shape:
            values = np.broadcast_to(values, shape)
        if self.active is True:
            return values.reshape(-1, *shape[len(self.shape) :])
        return values[np.broadcast_to(self.active, self.shape)]

    def where(self, shadow: Shadow) -> Any:
        """The numbers of the accessed elements in a shadow, a row for each."""
        rows = self.chosen(shadow.places(self.array, self.index))[:, None]
        count = shadow.count(self.array, self.width)
        return rows if count == 1 else rows + np.arange(count)

    def values(self) -> Any:
        """The values of the accessed elements; if they are vectors, a row for each."""
        elements = self.array[tuple(map(self.chosen, self.index))] if self.index else self.array
        return elements if self.index else self.chosen(elements)

    def store(self, values: Any) -> None:
        """Store a value in each accessed element."""
        if self.index:
            self.array[tuple(map(self.chosen, self.index))] = values
        elif len(values):
            self.array[()] = values[-1]

    def first(self, rows: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The index of the first element whose row has a True, and the shape of the buffer."""
        number = int(np.argmax(rows.reshape(len(rows), -1).any(axis=1)))
        index = self.index[1:] if self.copied else self.index
        first = tuple(int(self.chosen(i)[number]) for i in index)
        shape = self.array.shape[1:] if self.copied else self.array.shape
        return first, shape[: len(index)]


class CheckedGrid(Grid):
    """A kernel whose accesses are checked.

    An unwritten register may be read: its value, and everything computed from it, is *poison*.
    Poison is a fault only if it becomes visible: in a store to shared memory, an address, a
    condition. TVM's own reductions read such registers, in threads whose results are unused.

    Args:
        warp: the number of threads of a warp.
    """

    calls = 1  # its budget counts accesses

    def __init__(self, extents: Mapping[str, int], held: int, warp: int) -> None:
        super().__init__(extents, held)
        self._warp = warp
        self._poison: Any = False
        """The lanes in which the current statement already depends on poison."""
        self._source: tuple[int, tuple[int, ...], tuple[int, ...]] = (0, (), ())
        """The first read of poison: its site, index and shape."""
        self._variables: dict[str, Any] = {}

    def chunks(self) -> Iterator[tuple[Any, Any, Any]]:
        for chunk in super().chunks():
            thread = (self.first + self.group) * self.threads + self.lane % self.threads
            self._who = Who(thread, np.zeros(self.size, "int64"), self.threads, self._warp)
            yield chunk

    # Poison

    def begin(self) -> None:
        """Begin a statement."""
        self._poison = False

    def decide(self, value: Any, active: Any = True) -> Any:
        """Check a value that determines control flow, or an address."""
        if np.any(self._poison & np.asarray(active)):
            raise Trap(UNINITIALISED, *self._source)
        return value

    def bind(self, name: str) -> None:
        """Note that a variable gets the value of the current statement."""
        self._variables[name] = self._poison

    def use(self, name: str, value: Any) -> Any:
        """Note a use of a variable, whose value is returned."""
        self._poison = self._poison | self._variables.get(name, False)
        return value

    def apart(self) -> Any:
        """The poison of the statement so far, which is then reset for the operand of a shuffle."""
        before, self._poison = self._poison, False
        return before

    def exchanged(
        self, before: Any, kind: str, value: Any, offset: Any, width: Any, warp: int, active: Any
    ) -> Any:
        """A shuffle."""
        source, present = self.sources(kind, offset, width, warp, active)
        poison = np.broadcast_to(self._poison, self.size)
        self._poison = np.where(present, poison[source], True) | before
        if not present.all():
            self._source = (self._source[0], (), ())
        return self.shuffled(kind, value, offset, width, warp, active)

    def fitting(self, value: Any, bits: int, site: int, active: Any) -> Any:
        """Check that signed integers fit into `bits` bits, except those that depend on poison."""
        value, half = np.asarray(value), 1 << bits - 1
        outside = np.less(value, -half) | np.greater_equal(value, half)
        seen = np.asarray(active) & np.logical_not(self._poison)
        if np.any(outside & _wide(seen, max(value.ndim, seen.ndim))):
            raise Trap(OVERFLOW, site)
        return np.where(outside, 0, value).astype(f"int{bits}")

    # Accesses

    def read(
        self, site: int, shadow: Shadow, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> Any:
        """Read the elements of the lanes."""
        place = self._place(READ_OUTSIDE, site, array, copy, index, active)
        where = place.where(shadow)
        unknown = ~shadow.known[where]
        if unknown.any():
            if shadow.common:
                raise Trap(UNINITIALISED, site, *place.first(unknown))
            self._source = (site, *place.first(unknown))
            poison = np.zeros(self.size, np.bool_)
            poison[self._lanes(place)[unknown.any(axis=1)]] = True
            self._poison = self._poison | poison
        if shadow.races:
            shadow.launched(self)
            wrong = shadow.read(where.ravel(), self._who_at(place, where))
            self._refuse(site, place, wrong.reshape(where.shape))
        return array[place.index]

    def write(
        self,
        site: int,
        shadow: Shadow,
        array: Any,
        copy: Any,
        index: Sequence[Any],
        active: Any,
        value: Any,
    ) -> None:
        """Store the values that the lanes write."""
        place = self._place(WRITE_OUTSIDE, site, array, copy, index, active)
        if np.ndim(value) == len(place.shape):  # perhaps a vector, all of it to one element
            place = replace(place, shape=np.broadcast_shapes(place.shape, np.shape(value)))
        where = place.where(shadow)
        vector = (place.width,) if place.width > 1 else ()
        new = np.broadcast_to(np.asarray(value).astype(array.dtype), (*place.shape, *vector))
        new = place.chosen(new)
        if not shadow.common:
            place.store(new)
            poison = self._poison is not False and self._poison[self._lanes(place)][:, None]
            shadow.known[where] = ~np.asarray(poison)
            return
        self.decide(None, active)
        if shadow.races:
            shadow.launched(self)
            changes = _differ(place.values(), new) | ~shadow.known[where]
            wrong = shadow.write(where.ravel(), self._who_at(place, where), changes.ravel())
            self._refuse(site, place, wrong.reshape(where.shape))
        place.store(new)
        if shadow.races or self.virtual == 1:
            # If threads store to one element in one statement, one store wins, and no barrier
            # helps. Virtual threads run one after the other until they are loops.
            self._refuse(site, place, _differ(place.values(), new))
        shadow.known[where] = True

    def _place(
        self, kind: str, site: int, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> LaneElements:
        """The elements that the lanes access, all checked to be in bounds."""
        rank = max(1, *(np.ndim(i) for i in index)) if index else 1
        wide = [_wide(i, rank) for i in index]
        shape = np.broadcast_shapes((self.size, *(1,) * (rank - 1)), *map(np.shape, wide))
        if active is not True:
            active = _wide(active, rank)
        sizes = array.shape if copy is None else array.shape[1:]
        for axis, (i, size) in enumerate(zip(wide, sizes, strict=False)):
            if np.min(i) >= 0 and np.max(i) < size:
                continue
            outside = (np.less(i, 0) | np.greater_equal(i, size)) & active
            if outside.any():
                outside = np.broadcast_to(outside, shape)
                first = [int(np.broadcast_to(j, shape)[outside][0]) for j in wide]
                raise Trap(kind, site, tuple(first), sizes[: len(index)])
            wide[axis] = np.clip(i, 0, size - 1)
        if copy is not None:
            wide.insert(0, _wide(copy, rank))
        return LaneElements(array, copy is not None, tuple(wide), shape, active)

    def _lanes(self, place: LaneElements) -> Any:
        """The lane of each element that is accessed."""
        return place.chosen(_wide(self.lane, len(place.shape)))

    def _who_at(self, place: LaneElements, where: Any) -> Who:
        if place.active is True and where.size == self.size:
            return self._who
        return self._who.at(np.repeat(self._lanes(place), where.shape[1]))

    def _refuse(self, site: int, place: LaneElements, wrong: Any) -> None:
        """Raise a fault if one of the accesses is wrong."""
        if wrong.any():
            raise Trap(RACE, site, *place.first(wrong))

    def together(self, site: int, active: Any = True) -> None:
        """Check that either all threads of a block take part or none."""
        blocks = np.broadcast_to(active, self.size).reshape(self.blocks, -1)
        if (blocks.any(axis=1) & ~blocks.all(axis=1)).any():
            raise Trap(DIVERGENT, site)

    def barrier(self, site: int, scope: str, active: Any = True) -> None:
        """Make threads wait for each other: all threads of a block, or none."""
        count = 1
        if scope != "warp":
            self.together(site, active)
            count = 1 << TURN
        self._who = self._who._replace(time=self._who.time + count * np.asarray(active))


def _wide(values: Any, rank: int) -> Any:
    """Values of lanes, with trailing axes for the scalars of vectors."""
    if np.ndim(values) in (0, rank):
        return values
    return values.reshape(*values.shape, *(1,) * (rank - values.ndim))


def _differ(old: Any, new: Any) -> Any:
    """A mask of the values that differ, with a row for each."""
    rows = np.not_equal(old, new) & ~(np.not_equal(old, old) & np.not_equal(new, new))
    return rows.reshape(len(rows), -1)


def divisor_where(x: Any, active: Any, site: int) -> Any:
    """`intrinsics.divisor`, with a fault at the site."""
    try:
        return divisor(x, active)
    except Undefined as error:
        raise Trap(DIVISION, site) from error


def shift_where(x: Any, bits: int, active: Any, site: int) -> Any:
    """`intrinsics.shift`, with a fault at the site."""
    try:
        return shift(x, bits, active)
    except Undefined as error:
        raise Trap(SHIFT, site) from error


def whole_where(x: Any, low: int, high: int, active: Any, site: int) -> Any:
    """Check that floats without their fractions are in the range of an integer type."""
    wide = np.asarray(x).astype("float64")
    if np.any(~((wide > low - 1) & (wide < high + 1)) & active):
        raise Trap(CONVERSION, site)
    return x


NAMES: Mapping[str, Any] = {
    "CheckedGrid": CheckedGrid,
    "Shadow": Shadow,
    "atleast_2d": np.atleast_2d,
    **{function.__name__: function for function in (divisor_where, shift_where, whole_where)},
}
"""Names for kernels that checked programs use."""
