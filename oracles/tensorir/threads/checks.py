"""Checks that sanitized kernels call: every access of all lanes, every barrier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    Found,
)
from .grid import Grid
from .shadow import TURN, Shadow, Who


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of an array: one for each lane, or for each scalar of a vector in each lane."""

    array: Any
    copied: bool
    """The first index is that of a copy."""
    index: tuple[Any, ...]
    shape: tuple[int, ...]
    active: Any
    """Which of them are accessed: an array, or True."""

    @property
    def width(self) -> int:
        """Scalars of an element."""
        return int(self.array.shape[-1]) if self.array.ndim > len(self.index) else 1

    def chosen(self, values: Any) -> Any:
        """The values of those that are accessed, one after the other."""
        values = np.asarray(values)
        shape = (*self.shape, *values.shape[len(self.shape) :])
        if values.shape != shape:
            values = np.broadcast_to(values, shape)
        if self.active is True:
            return values.reshape(-1, *shape[len(self.shape) :])
        return values[np.broadcast_to(self.active, self.shape)]

    def where(self, shadow: Shadow) -> Any:
        """Their numbers in a shadow: a row for each."""
        rows = self.chosen(shadow.places(self.array, self.index))[:, None]
        count = shadow.count(self.array, self.width)
        return rows if count == 1 else rows + np.arange(count)

    def values(self) -> Any:
        """What they hold: a row for each where it is a vector."""
        elements = self.array[tuple(map(self.chosen, self.index))] if self.index else self.array
        return elements if self.index else self.chosen(elements)

    def store(self, values: Any) -> None:
        """Store a value in each."""
        if self.index:
            self.array[tuple(map(self.chosen, self.index))] = values
        elif len(values):
            self.array[()] = values[-1]

    def first(self, rows: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The index of the first one whose row says so, and the shape of the buffer."""
        number = int(np.argmax(rows.reshape(len(rows), -1).any(axis=1)))
        index = self.index[1:] if self.copied else self.index
        first = tuple(int(self.chosen(i)[number]) for i in index)
        shape = self.array.shape[1:] if self.copied else self.array.shape
        return first, shape[: len(index)]


class CheckedGrid(Grid):
    """A kernel whose accesses are checked.

    A register that nobody has written may be read: its value is *poison*, and so is what is
    computed of it. Only what others see of poison is a fault: a store to memory that threads have
    in common, an address, a condition. TVM's own reductions read such registers, in threads whose
    results nobody uses.

    Args:
        warp: threads of a warp.
    """

    calls = 1  # its budget is one of accesses

    def __init__(self, extents: Mapping[str, int], held: int, warp: int) -> None:
        super().__init__(extents, held)
        self._warp = warp
        self._poison: Any = False
        """The lanes in which the statement, up to here, depends on poison."""
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
        """A statement begins."""
        self._poison = False

    def decide(self, value: Any, active: Any = True) -> Any:
        """A value that decides what is executed, or where."""
        if np.any(self._poison & np.asarray(active)):
            raise Found(UNINITIALISED, *self._source)
        return value

    def bind(self, name: str) -> None:
        """A variable gets the value of the statement."""
        self._variables[name] = self._poison

    def use(self, name: str, value: Any) -> Any:
        """The value of a variable."""
        self._poison = self._poison | self._variables.get(name, False)
        return value

    def apart(self) -> Any:
        """What the statement depends on before the operand of a shuffle is computed."""
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
        """Signed integers of so many bits; what depends on poison is none that anyone sees."""
        value, half = np.asarray(value), 1 << bits - 1
        outside = np.less(value, -half) | np.greater_equal(value, half)
        seen = np.asarray(active) & np.logical_not(self._poison)
        if np.any(outside & _wide(seen, max(value.ndim, seen.ndim))):
            raise Found(OVERFLOW, site)
        return np.where(outside, 0, value).astype(f"int{bits}")

    # Accesses

    def read(
        self, site: int, shadow: Shadow, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> Any:
        """The elements that the lanes read."""
        place = self._place(READ_OUTSIDE, site, array, copy, index, active)
        where = place.where(shadow)
        unknown = ~shadow.known[where]
        if unknown.any():
            if shadow.common:
                raise Found(UNINITIALISED, site, *place.first(unknown))
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
        """Store what the lanes write."""
        place = self._place(WRITE_OUTSIDE, site, array, copy, index, active)
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
            # Of threads that store to one element in one statement, one has the last word, and no
            # barrier helps. Virtual threads follow each other until they are loops.
            self._refuse(site, place, _differ(place.values(), new))
        shadow.known[where] = True

    def _place(
        self, kind: str, site: int, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> Place:
        """What the lanes access, all of it inside."""
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
                raise Found(kind, site, tuple(first), sizes[: len(index)])
            wide[axis] = np.clip(i, 0, size - 1)
        if copy is not None:
            wide.insert(0, _wide(copy, rank))
        return Place(array, copy is not None, tuple(wide), shape, active)

    def _lanes(self, place: Place) -> Any:
        """The lane of each element that is accessed."""
        return place.chosen(_wide(self.lane, len(place.shape)))

    def _who_at(self, place: Place, where: Any) -> Who:
        if place.active is True and where.size == self.size:
            return self._who
        return self._who.at(np.repeat(self._lanes(place), where.shape[1]))

    def _refuse(self, site: int, place: Place, wrong: Any) -> None:
        """Raise a fault where one of the accesses is wrong."""
        if wrong.any():
            raise Found(RACE, site, *place.first(wrong))

    def together(self, site: int, active: Any = True) -> None:
        """Threads that compute something together: all of a block or none."""
        blocks = np.broadcast_to(active, self.size).reshape(self.blocks, -1)
        if (blocks.any(axis=1) & ~blocks.all(axis=1)).any():
            raise Found(DIVERGENT, site)

    def barrier(self, site: int, scope: str, active: Any = True) -> None:
        """Threads wait for each other: all of a block or none."""
        count = 1
        if scope != "warp":
            self.together(site, active)
            count = 1 << TURN
        self._who = self._who._replace(time=self._who.time + count * np.asarray(active))


def _wide(values: Any, rank: int) -> Any:
    """Values of lanes, with axes for the scalars of vectors behind."""
    if np.ndim(values) in (0, rank):
        return values
    return values.reshape(*values.shape, *(1,) * (rank - values.ndim))


def _differ(old: Any, new: Any) -> Any:
    """Where values are not the same, a row for each."""
    rows = np.not_equal(old, new) & ~(np.not_equal(old, old) & np.not_equal(new, new))
    return rows.reshape(len(rows), -1)


def divisor_where(x: Any, active: Any, site: int) -> Any:
    """`intrinsics.divisor`, whose fault is one of the site."""
    try:
        return divisor(x, active)
    except Undefined as error:
        raise Found(DIVISION, site) from error


def shift_where(x: Any, bits: int, active: Any, site: int) -> Any:
    """`intrinsics.shift`, whose fault is one of the site."""
    try:
        return shift(x, bits, active)
    except Undefined as error:
        raise Found(SHIFT, site) from error


def whole_where(x: Any, low: int, high: int, active: Any, site: int) -> Any:
    """Floats that are in the range of an integer type once their fractions are cut off."""
    wide = np.asarray(x).astype("float64")
    if np.any(~((wide > low - 1) & (wide < high + 1)) & active):
        raise Found(CONVERSION, site)
    return x


NAMES: Mapping[str, Any] = {
    "CheckedGrid": CheckedGrid,
    "Shadow": Shadow,
    "atleast_2d": np.atleast_2d,
    **{function.__name__: function for function in (divisor_where, shift_where, whole_where)},
}
"""What checked programs see of kernels."""
