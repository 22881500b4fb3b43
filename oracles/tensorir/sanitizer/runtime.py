"""Faults, and the checks of sanitized programs that are too long to inline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..runtime import NAMES as PLAIN

READ_OUTSIDE = "read outside"
WRITE_OUTSIDE = "write outside"
UNINITIALISED = "read of uninitialised memory"
UNWRITTEN = "output left unwritten"
RACE = "race"
ALIASED = "aliased parameters"
DIVISION = "division by zero"
SHIFT = "shift too wide"
OVERFLOW = "index overflow"
CONVERSION = "conversion out of range"
DIVERGENT = "barrier that not all threads of a block reach"

KINDS = (
    *(READ_OUTSIDE, WRITE_OUTSIDE, UNINITIALISED, UNWRITTEN, RACE),
    *(ALIASED, DIVISION, SHIFT, OVERFLOW, CONVERSION, DIVERGENT),
)
"""All kinds of faults."""

MEMORY = (READ_OUTSIDE, WRITE_OUTSIDE, UNINITIALISED, UNWRITTEN, RACE, ALIASED)
"""Faults of memory accesses; the others are undefined arithmetic and control flow."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An illegal action of a PrimFunc.

    `buffer`, `index` and `shape` are empty if no buffer is at fault (as in a division).
    """

    kind: str
    buffer: str
    index: tuple[int, ...]
    shape: tuple[int, ...]
    statement: str
    """The store with the fault, printed; the expression if it is not inside of a store."""

    def __str__(self) -> str:
        where = f" at {self.buffer}{list(self.index)} of shape {self.shape}" if self.buffer else ""
        return f"{self.kind}{where}: {self.statement}"


class Trap(Exception):
    """A fault at a site, which is the number of a statement or expression."""

    def __init__(
        self, kind: str, site: int, index: tuple[int, ...] = (), shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(kind, site, index, shape)
        self.kind = kind
        self.site = site
        self.index = tuple(map(int, index))
        self.shape = shape


class Race:
    """The readers and writers of elements in one run of code that must not depend on an order."""

    def __init__(self) -> None:
        self._writers: dict[Any, Any] = {}
        self._readers: dict[Any, Any] = {}
        self._places: dict[int, tuple[Any, int, tuple[int, ...]]] = {}

    def _place(self, array: np.ndarray[Any, Any], index: tuple[int, ...]) -> int:
        known = self._places.get(id(array))
        if known is None:
            # The array is kept alive, so that no other array gets its memory.
            known = (array, _address(array), array.strides)
            self._places[id(array)] = known
        _, begin, strides = known
        # In an array of vectors, the last axis has the scalars.
        return begin + sum(i * stride for i, stride in zip(index, strides, strict=False))

    def read(self, key: Any, order: Any, array: Any, index: tuple[int, ...]) -> bool:
        """Note a read; False if another iteration has written the element.

        Args:
            key: the iteration.
            order: iterations conflict only if they agree in this.
        """
        where = (order, self._place(array, index))
        if self._writers.get(where, key) != key:
            return False
        if self._readers.setdefault(where, key) != key:
            self._readers[where] = _SEVERAL
        return True

    def write(self, key: Any, order: Any, array: Any, index: tuple[int, ...]) -> bool:
        """Note a write; False if another iteration has read or written the element."""
        where = (order, self._place(array, index))
        if self._writers.setdefault(where, key) != key:
            return False
        return bool(self._readers.get(where, key) == key)


_SEVERAL = object()


def outside(index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return any(not 0 <= i < size for i, size in zip(index, shape, strict=True))


def bad_read(site: int, array: Any, marks: Any, index: tuple[int, ...]) -> NoReturn:
    """Raise the fault of a read that failed its checks."""
    if outside(index, array.shape):
        raise Trap(READ_OUTSIDE, site, index, array.shape)
    if marks is not None and not marks[index]:
        raise Trap(UNINITIALISED, site, index, array.shape)
    raise Trap(RACE, site, index, array.shape)


def bad_write(site: int, array: Any, index: tuple[int, ...]) -> NoReturn:
    """Raise the fault of a write that failed its checks."""
    raise Trap(WRITE_OUTSIDE if outside(index, array.shape) else RACE, site, index, array.shape)


def _places(index: Sequence[Any]) -> list[tuple[int, ...]]:
    """The index of each lane."""
    axes = np.broadcast_arrays(*(np.atleast_1d(axis) for axis in index))
    return list(zip(*(map(int, axis) for axis in axes), strict=True)) if axes else [()]


def read_lanes(
    site: int,
    array: Any,
    marks: Any,
    index: Sequence[Any],
    watches: Sequence[tuple[Race, Any, Any]],
    chosen: Any,
) -> Any:
    """Read a vector: the elements at the indices of its lanes, or one element of vectors.

    Args:
        chosen: the lanes whose values are used; None for all. Other lanes are read, too.
    """
    places = _places(index)
    shape = array.shape[: len(index)]
    used: Any = [chosen is None or np.any(chosen)] * len(places)
    if chosen is not None and len(places) > 1:
        used = np.broadcast_to(chosen, len(places))
    for place, needed in zip(places, used, strict=True):
        if outside(place, shape):
            raise Trap(READ_OUTSIDE, site, place, shape)
        if not needed:
            continue
        if marks is not None and not np.all(marks[place]):
            raise Trap(UNINITIALISED, site, place, shape)
        if not all(race.read(key, order, array, place) for race, key, order in watches):
            raise Trap(RACE, site, place, shape)
    values = [array[place] for place in places]
    return np.array(values, array.dtype) if array.ndim == len(index) else values[0].copy()


def write_lanes(
    site: int,
    array: Any,
    marks: Any,
    index: Sequence[Any],
    watches: Sequence[tuple[Race, Any, Any]],
    value: Any,
) -> None:
    """Store a vector to the elements at the indices of its lanes, in the order of the lanes."""
    places = _places(index)
    shape = array.shape[: len(index)]
    for place in places:
        if outside(place, shape):
            raise Trap(WRITE_OUTSIDE, site, place, shape)
        if not all(race.write(key, order, array, place) for race, key, order in watches):
            raise Trap(RACE, site, place, shape)
    values = [value] if array.ndim > len(index) else np.broadcast_to(value, len(places))
    for place, each in zip(places, values, strict=True):
        array[place] = each
        if marks is not None:
            marks[place] = True


def all_read(site: int, marks: np.ndarray[Any, Any]) -> None:
    """Check a read of all elements of an array."""
    if not marks.all():
        raise Trap(UNINITIALISED, site, tuple(np.argwhere(~marks)[0]), marks.shape)


def unwritten(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Marks for the elements of an array, initially all unwritten."""
    return np.zeros(array.shape, np.bool_)


def marks_of(
    view: np.ndarray[Any, Any], source: np.ndarray[Any, Any], marks: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """The marks of a view, which are those of the same elements of its source."""
    root: Any = marks if marks.base is None else marks.base
    size = view.itemsize
    first = _address(source) - size * (_address(marks) - _address(root))
    strides = tuple(stride // size for stride in view.strides)
    return np.ndarray(view.shape, np.bool_, root, (_address(view) - first) // size, strides)


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def divisor_at(x: Any, site: int) -> Any:
    if x == 0:
        raise Trap(DIVISION, site)
    return x


def shift_at(x: Any, bits: int, site: int) -> Any:
    if not 0 <= x < bits:
        raise Trap(SHIFT, site)
    return x


def fits(x: int, bits: int, site: int) -> int:
    """Check that a signed integer fits into `bits` bits."""
    if not -(1 << bits - 1) <= x < 1 << bits - 1:
        raise Trap(OVERFLOW, site)
    return x


def fit(x: Any, bits: int, site: int) -> Any:
    """Check that signed integers fit into `bits` bits."""
    for each in np.ravel(x):
        fits(int(each), bits, site)
    return x


def integers(x: Any) -> Any:
    """The vector as Python's integers, which do not wrap around."""
    return np.asarray(x).astype(object)


def whole_at(x: Any, low: int, high: int, site: int) -> Any:
    """Check that a float without its fraction is in the range of an integer type."""
    if not low - 1 < float(x) < high + 1:  # bfloat16 cannot be compared with an integer that large
        raise Trap(CONVERSION, site)
    return x


NAMES: Mapping[str, Any] = {
    **PLAIN,
    "Race": Race,
    **{
        function.__name__: function
        for function in (
            bad_read,
            bad_write,
            all_read,
            unwritten,
            marks_of,
            divisor_at,
            shift_at,
            fits,
            fit,
            integers,
            read_lanes,
            write_lanes,
            whole_at,
        )
    },
}
"""Names that checked programs use."""
