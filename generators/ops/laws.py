"""Laws of operators: relations between results that hold for any single result.

They allow any result that the documentation leaves open, as it does for NaN. The laws are for the
field `laws` of the operators' records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .undefined import is_float

Args = Sequence[Any]
Axes = Callable[[Any, int], Sequence[int]]
"""Maps the attributes and the rank of the first operand to some of its axes."""


@dataclass(frozen=True, slots=True)
class RelatedCalls:
    """Calls of an operator whose results the law relates."""

    calls: tuple[Args, ...]
    views: tuple[str, ...]
    """Expressions, one for each call, of its `result`, its `args` and `np`; all must be equal."""
    bounds: tuple[float, float] | None = None
    """All numbers of the views lie between these; None: the views are equal."""
    nan: bool = False
    """NaN is among the operands."""


@dataclass(frozen=True, slots=True)
class Law:
    """One law."""

    broken: str
    """The predicate of a sentence on an operator that breaks it."""
    trials: Callable[[Args, Any], Iterator[RelatedCalls]]
    """Trials for operands (small whole numbers) and attributes; none if the law does not apply."""


def elements(shape: Sequence[int], dtype: Any) -> Any:
    """Small whole numbers, adjacent ones distinct; not negative if the dtype is unsigned."""
    size = int(np.prod(shape, dtype="int64"))
    numbers = (np.arange(size) * 5 + 2) % 7
    if dtype == np.bool_:
        numbers = np.arange(size) % 2
    elif dtype.kind != "u":
        numbers = numbers - 3
    return numbers.astype(dtype).reshape(tuple(shape))


def _specials(x: Any) -> tuple[float | None, ...]:
    return (None, float("nan")) if is_float(x) else (None,)


def _with(x: Any, special: float | None, axes: Sequence[int]) -> Any:
    """x with the special number first along the axes, and everywhere along the others."""
    if special is None:
        return x
    place = tuple(0 if axis in axes else slice(None) for axis in range(x.ndim))
    changed = x.copy()
    changed[place] = special
    return changed


def _longer_than_one(x: Any, axes: Sequence[int]) -> list[int]:
    return [axis % x.ndim for axis in axes if x.shape[axis % x.ndim] > 1] if x.size else []


# Order


def _orders(x: Any, axes: Sequence[int]) -> tuple[Any, ...]:
    """The elements in three orders: the first one along the axes comes to the second and to the
    last place."""
    return x, np.roll(x, 1, axes[0]), np.flip(x, tuple(axes))


def symmetric(axes: Axes, view: Callable[[Any, int], str] = lambda attrs, rank: "result") -> Law:
    """The result does not depend on the order of the elements along some axes.

    Args:
        view: the part of the result, or of the values it points to, that does not.
    """

    def trials(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
        x = args[0]
        along = _longer_than_one(x, axes(attrs, x.ndim))
        for special in _specials(x) if along else ():
            orders = _orders(_with(x, special, along), along)
            calls = tuple([each, *args[1:]] for each in orders)
            yield RelatedCalls(calls, (view(attrs, x.ndim),) * len(calls), nan=special is not None)

    return Law("depends on the order of its operand's elements", trials)


def _commuted(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
    x, y = args[:2]
    if not all(isinstance(arg, np.ndarray) and arg.size for arg in (x, y)):
        return
    for special in _specials(x):
        one = _with(x, special, range(x.ndim))
        yield RelatedCalls(([one, y], [y, one]), ("result", "result"), nan=special is not None)


COMMUTATIVE = Law("depends on the order of its operands", _commuted)


# Not a number


def _nan(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
    x = args[0]
    if is_float(x) and x.size:
        operands = [np.full_like(x, float("nan")), *args[1:]]
        yield RelatedCalls((operands,), ("np.isnan(result)",), (1, 1), nan=True)


KEEPS_NAN = Law("gives a number for every element", _nan)
"""An operation on NaN is NaN (IEEE 754-2019, 6.2), a maximum included (9.6)."""


# Mirrored images


def _mirrored(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
    x, layout = args[0], str(attrs.layout)
    if not x.size or layout != str(attrs.out_layout) or not layout.isupper():
        return
    windows, spatial = _windows(attrs, x.shape), _spatial(layout)
    if not all(each.are_mirrored and each.are_filled for each in windows):
        return
    for special in _specials(x):
        one, axes = _with(x, special, spatial), tuple(spatial)
        calls = [one], [np.flip(one, axes).copy()]
        yield RelatedCalls(calls, ("result", f"np.flip(result, {axes})"), nan=special is not None)


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows of a pooling along one spatial axis."""

    length: int
    size: int
    stride: int
    dilation: int
    lead: int
    trail: int
    ceil: bool

    @property
    def room(self) -> int:
        """The positions that remain beside the first window."""
        return self.length + self.lead + self.trail - self.dilation * (self.size - 1) - 1

    @property
    def are_mirrored(self) -> bool:
        """True if the windows are the same from both ends."""
        return self.lead == self.trail and self.room >= 0 and self.room % self.stride == 0

    @property
    def are_filled(self) -> bool:
        """True if each window has an element of the image; results of others are undocumented."""
        last = -(-self.room // self.stride) if self.ceil else self.room // self.stride
        return all(map(self._is_filled, range(last + 1)))

    def _is_filled(self, number: int) -> bool:
        start = number * self.stride - self.lead
        places = (start + tap * self.dilation for tap in range(self.size))
        return any(0 <= place < self.length for place in places)


def _windows(attrs: Any, shape: Sequence[int]) -> list[_Windows]:
    """The windows along each spatial axis; empty for an operator without windows of fixed size."""
    if not hasattr(attrs, "pool_size"):
        return []
    spatial = _spatial(str(attrs.layout))
    pads = [int(pad) for pad in attrs.padding]
    return [
        _Windows(
            length=shape[axis],
            size=int(attrs.pool_size[i]),
            stride=int(attrs.strides[i]),
            dilation=int(attrs.dilation[i]),
            lead=pads[i],
            trail=pads[i + len(spatial)],
            ceil=bool(attrs.ceil_mode),
        )
        for i, axis in enumerate(spatial)
    ]


def _spatial(layout: str) -> list[int]:
    return [layout.index(letter) for letter in "DHW" if letter in layout]


MIRRORED = Law("is not mirrored where its operand is", _mirrored)
"""Windows slide over an image in the same way from either end."""


# Bounds


def within(
    *, ends: bool = False, view: Callable[[Any], str | None] = lambda attrs: "result"
) -> Law:
    """No element of the result is less than all elements of the first operand, or greater.

    Args:
        ends: floats at the ends of their dtype and infinities count, too: none are added.
        view: the part of the result; None if the result has no such bound.
    """

    def trials(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
        x = args[0]
        seen = view(attrs)
        if seen is None or not x.size or x.dtype == np.bool_:
            return
        if not all(each.are_filled for each in _windows(attrs, x.shape)):
            return
        zero = [0.0] if bool(getattr(attrs, "count_include_pad", False)) else []
        for value in (x, *(np.full_like(x, number) for number in _alike(x, ends))):
            numbers = [*value.astype("float64").ravel().tolist(), *zero]
            yield RelatedCalls(([value, *args[1:]],), (seen,), (min(numbers), max(numbers)))

    return Law("gives numbers beyond those of its operand", trials)


def pointing(axes: Axes) -> Law:
    """Each element of the result is an index of an element along some axes of the first operand."""

    def trials(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
        x = args[0]
        last = math.prod(x.shape[axis] for axis in axes(attrs, x.ndim)) - 1
        specials = [float("nan")] if is_float(x) else []
        filled = [np.full_like(x, number) for number in (*_alike(x, True), *specials)]
        for value in (x, *filled) if x.size else ():
            nan = is_float(x) and bool(np.isnan(value).any())
            yield RelatedCalls(([value, *args[1:]],), ("result",), (0, last), nan=nan)

    return Law("points outside of its operand", trials)


def spread(power: int) -> Law:
    """The deviation from the mean is at most half of the distance of the extremes (Popoviciu).

    Args:
        power: 2 for a variance, 1 for a standard deviation.
    """

    def trials(args: Args, attrs: Any) -> Iterator[RelatedCalls]:
        x = args[0]
        if not is_float(x) or not x.size:
            return
        # numpy.var: 'float16 results are computed using float32 intermediates'; float16 cannot
        # hold the square of 266.
        far = np.resize(np.array([200, -200], x.dtype), x.shape)
        for value in (x, np.full_like(x, 5.5), *([far] if x.dtype == np.float16 else [])):
            half = float(value.max() - value.min()) / 2
            yield RelatedCalls(([value, *args[1:]],), ("result",), (0, half**power))

    return Law("gives a spread beyond that of its operand", trials)


def _alike(x: Any, ends: bool) -> tuple[float, ...]:
    """Numbers to fill whole tensors with."""
    if is_float(x):
        # numpy.mean: 'float16 results are computed using float32 intermediates'; float16 cannot
        # hold the sum of three.
        large = (30000.0,) if x.dtype == np.float16 else ()
        return (5.5, *large, *((float("inf"), float("-inf")) if ends else ()))
    if x.dtype == np.bool_:
        return (0, 1)
    info = np.iinfo(x.dtype)
    if not ends and info.bits > 16:
        return (100,)  # sums of greater ones may overflow, see `Behaviour`
    return (100, int(info.max), int(info.min))
