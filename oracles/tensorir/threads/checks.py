"""Checks that sanitized kernels call: every access of all lanes, every barrier."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..sanitizer_runtime import (
    CONVERSION,
    DIVERGENT,
    DIVISION,
    RACE,
    READ_OUTSIDE,
    SHIFT,
    UNINITIALISED,
    WRITE_OUTSIDE,
    Found,
)
from .grid import Grid
from .shadow import Shadow, Who


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of an array, one for each lane, or for each scalar of a vector in each lane."""

    array: Any
    copied: bool
    """The first index is that of a copy."""
    index: tuple[Any, ...]
    active: Any
    """Which of them are accessed."""

    @property
    def width(self) -> int:
        """Scalars of an element."""
        return int(self.array.shape[-1]) if self.array.ndim > len(self.index) else 1

    def where(self, shadow: Shadow) -> Any:
        """Their numbers in a shadow, in a last axis."""
        places = shadow.places(self.array, self.index, self.width)
        return np.broadcast_to(places, (*self.active.shape, places.shape[-1]))

    def each(self, values: Any) -> Any:
        """A value for each."""
        vector = (self.width,) if self.width > 1 else ()
        return np.broadcast_to(values, (*self.active.shape, *vector))

    def agrees(self, values: Any) -> Any:
        """Whether these are their values."""
        old = self.each(self.array[self.index])
        same = np.equal(old, values) | (np.not_equal(old, old) & np.not_equal(values, values))
        return same.all(axis=-1) if self.width > 1 else same

    def store(self, values: Any) -> None:
        """Store values in those that are accessed."""
        chosen = self.active
        index = tuple(np.broadcast_to(i, chosen.shape)[chosen] for i in self.index)
        if index:
            self.array[index] = values[chosen]
        elif chosen.any():
            self.array[()] = values[chosen][-1]

    def first(self, chosen: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The index of the first that is chosen, and the shape of the buffer."""
        index = self.index[1:] if self.copied else self.index
        first = tuple(int(np.broadcast_to(i, chosen.shape)[chosen][0]) for i in index)
        return first, self.array.shape[1 : 1 + len(index)] if self.copied else self.array.shape


class CheckedGrid(Grid):
    """A kernel whose accesses are checked.

    A register that nobody has written may be read: its value is *poison*, and so is what is
    computed of it. Only what others see of poison is a fault: a store to memory that threads have
    in common, an address, a condition. TVM's own reductions read such registers, in threads whose
    results nobody uses.

    Args:
        warp: threads of a warp.
        races: barriers are where they have to be. Without them, statements follow each other.
    """

    def __init__(self, extents: Mapping[str, int], held: int, warp: int, races: bool) -> None:
        super().__init__(extents, held)
        self._warp = warp
        self._races = races
        self._poison: Any = False
        """The lanes in which the statement, up to here, depends on poison."""
        self._source: tuple[int, tuple[int, ...], tuple[int, ...]] = (0, (), ())
        """The first read of poison: its site, index and shape."""
        self._variables: dict[str, Any] = {}

    def chunks(self) -> Iterator[tuple[Any, Any, Any]]:
        for chunk in super().chunks():
            block = self.first + self.group
            thread = self.lane % self.threads
            warp = thread // self._warp
            zero = np.zeros(self.size, "int64")
            warps = self.threads // self._warp + 1
            self._who = Who(block * self.threads + thread, block, block * warps + warp, zero, zero)
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

    # Accesses

    def read(
        self, site: int, shadow: Shadow, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> Any:
        """The elements that the lanes read."""
        place = self._place(READ_OUTSIDE, site, array, copy, index, active)
        where = place.where(shadow)
        unknown = ~shadow.known[where].all(axis=-1) & place.active
        if unknown.any():
            if shadow.common:
                raise Found(UNINITIALISED, site, *place.first(unknown))
            self._source = (site, *place.first(unknown))
            self._poison = self._poison | unknown.reshape(self.size, -1).any(axis=1)
        if shadow.common and self._races:
            shadow.launched(self)
            wrong = shadow.read(where[place.active], self._who_at(place, where))
            self._refuse(RACE, site, place, wrong)
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
        new = place.each(np.asarray(value).astype(array.dtype))
        if not shadow.common:
            place.store(new)
            poison = np.broadcast_to(_wide(self._poison, place.active.ndim), place.active.shape)
            shadow.known[where[place.active]] = ~poison[place.active][:, None]
            return
        self.decide(None, active)
        if self._races:
            shadow.launched(self)
            changes = ~place.agrees(new)[..., None] | ~shadow.known[where]
            who = self._who_at(place, where)
            self._refuse(
                RACE, site, place, shadow.write(where[place.active], who, changes[place.active])
            )
        place.store(new)
        if self._races:
            # Of threads that store to one element in one statement, one has the last word.
            self._refuse(RACE, site, place, ~place.agrees(new)[place.active])
        shadow.known[where[place.active]] = True

    def _place(
        self, kind: str, site: int, array: Any, copy: Any, index: Sequence[Any], active: Any
    ) -> Place:
        """What the lanes access, all of it inside."""
        rank = max(np.ndim(i) for i in (self.lane, *index))
        active = np.broadcast_to(
            _wide(active, rank),
            np.broadcast_shapes(*(np.shape(_wide(i, rank)) for i in (self.lane, *index))),
        )
        sizes = array.shape if copy is None else array.shape[1:]
        safe = []
        for i, size in zip(index, sizes, strict=False):
            wide = _wide(i, rank)
            outside = (np.less(wide, 0) | np.greater_equal(wide, size)) & active
            if outside.any():
                first = [np.broadcast_to(_wide(j, rank), active.shape)[outside][0] for j in index]
                raise Found(kind, site, tuple(first), sizes[: len(index)])
            safe.append(wide.clip(0, size - 1))
        if copy is not None:
            safe.insert(0, _wide(copy, rank))
        return Place(array, copy is not None, tuple(safe), active)

    def _who_at(self, place: Place, where: Any) -> Who:
        lanes = np.broadcast_to(_wide(self.lane, place.active.ndim), place.active.shape)
        return self._who[np.broadcast_to(lanes[..., None], where.shape)[place.active]]

    def _refuse(self, kind: str, site: int, place: Place, wrong: Any) -> None:
        """Raise a fault where one of the accesses that are made is wrong."""
        if wrong.any():
            chosen = np.zeros(place.active.shape, np.bool_)
            chosen[place.active] = wrong.reshape(wrong.shape[0], -1).any(axis=1)
            raise Found(kind, site, *place.first(chosen))

    def together(self, site: int, active: Any = True) -> None:
        """Threads that compute something together: all of a block or none."""
        blocks = np.broadcast_to(active, self.size).reshape(self.blocks, -1)
        if (blocks.any(axis=1) & ~blocks.all(axis=1)).any():
            raise Found(DIVERGENT, site)

    def barrier(self, site: int, scope: str, active: Any = True) -> None:
        """Threads wait for each other: all of a block or none."""
        lanes = np.broadcast_to(active, self.size)
        if scope == "warp":
            self._who = dataclasses.replace(self._who, turn=self._who.turn + lanes)
            return
        self.together(site, active)
        self._who = dataclasses.replace(self._who, time=self._who.time + lanes)


def _wide(values: Any, rank: int) -> Any:
    """Values of lanes, with axes for the scalars of vectors behind."""
    values = np.asarray(values)
    if values.ndim in (0, rank):
        return values
    return values.reshape(*values.shape, *(1,) * (rank - values.ndim))


def divisor_where(x: Any, active: Any, site: int) -> Any:
    zero = np.equal(x, 0)
    if np.any(zero & active):
        raise Found(DIVISION, site)
    return np.where(zero, np.ones_like(x), x)


def shift_where(x: Any, bits: int, active: Any, site: int) -> Any:
    wrong = np.less(x, 0) | np.greater_equal(x, bits)
    if np.any(wrong & active):
        raise Found(SHIFT, site)
    return np.where(wrong, np.zeros_like(x), x)


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
