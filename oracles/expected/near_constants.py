"""Arguments next to the constants of a PrimFunc, on which a pass may have changed what it computes.

A wrong rule for integers is often wrong for few numbers only: one residue, the number at a limit, a
pair with one difference. These numbers stand in the function, or next to numbers that do. So both
functions run on many integers and sizes of that sort, and only calls on which they differ are
given to the oracles, which judge them like calls on any other arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from tvm import tirx
from tvm.ir import PrimType

from ..dtypes import dtype_of
from ..errors import Mismatch, NoResult, Undefined, Unsupported
from ..execute.kernels import iterations_of
from ..inspect import nodes
from ..tensorir import SMALL, Program, sanitize, translate
from .expectation import copies
from .inputs import SIZES, InputKind, counts, drawn

SCALARS = 64
"""Number of draws for parameters that are integers. Of 15 planted faults in integer rules, 32 draws
show 9 on average, 64 draws 11, 128 draws 12, and 256 draws 12.5; docs/values.md."""

DIMENSIONS = 4
"""Number of draws for symbolic sizes."""

DIFFERENT = 2
"""Number of calls that are given, since one without a vote of the VM needs a second one."""

LARGEST_SIZE = 64
"""Limit of sizes and of numbers of iterations."""

ITERATIONS = 300
"""Limit of the iterations of a PrimFunc, so that all draws take milliseconds."""


def telling(
    before: tirx.PrimFunc,
    after: tirx.PrimFunc,
    fitting: Callable[[list[Any]], list[Any]] = list,
) -> list[list[Any]]:
    """Arguments on which both functions are defined or the second one is not, and they differ.

    The same two functions always get the same arguments.

    Args:
        fitting: adapts arguments to both functions.
    """
    found: list[list[Any]] = []
    if not _is_searched(before):
        return found
    # A function that cannot be drawn for, or translated, has no arguments here.
    with contextlib.suppress(Unsupported, Mismatch):
        programs = translate(before), translate(after)
        for args in _Draws(before, after).all():
            given = fitting(args)
            outcome = _differ(*programs, given)
            if outcome is None:
                break
            if outcome and _stays_in_range(before, given):
                found.append(given)
            if len(found) == DIFFERENT:
                break
    return found


def _is_searched(func: tirx.PrimFunc) -> bool:
    has_any = bool(_scalars(func) or _dimensions(func))
    return has_any and iterations_of(func) <= ITERATIONS


def _scalars(func: tirx.PrimFunc) -> dict[int, Any]:
    """The integer parameters that are no size of another one, by position."""
    of_types = [var for param in func.params for var in nodes(param.ty, tirx.Var)]
    return {
        place: dtype_of(str(param.ty.dtype))
        for place, param in enumerate(func.params)
        if isinstance(param.ty, PrimType) and "int" in str(param.ty.dtype)
        if not any(param.same_as(var) for var in of_types)
    }


def _dimensions(func: tirx.PrimFunc) -> list[str]:
    """The names of the symbolic sizes of the parameters."""
    shapes = [param.ty.shape for param in func.params if isinstance(param.ty, tirx.BufferType)]
    return list(dict.fromkeys(str(var.name) for dims in shapes for var in nodes(dims, tirx.Var)))


class _Draws:
    def __init__(self, before: tirx.PrimFunc, after: tirx.PrimFunc) -> None:
        self._func = before
        self._random = Random(0)
        of_both = {int(each.value) for func in (before, after) for each in nodes(func, tirx.IntImm)}
        self._constants = sorted(of_both | {0})
        self._scalars = _scalars(before)
        counted = counts(before)
        self._counts = {
            place for place in self._scalars if any(map(before.params[place].same_as, counted))
        }

    def all(self) -> Iterator[list[Any]]:
        """Yields arguments."""
        args = self._with_sizes({})
        seen = set()
        for _ in range(SCALARS if self._scalars else 0):
            numbers = self._numbers()
            if tuple(numbers.values()) not in seen:
                seen.add(tuple(numbers.values()))
                yield [numbers.get(place, arg) for place, arg in enumerate(args)]
        for name in (names := _dimensions(self._func)):
            for size in self._sample(self._near(), DIMENSIONS // len(names)):
                yield self._with_sizes({name: size})

    def _with_sizes(self, sizes: Mapping[str, int]) -> list[Any]:
        return drawn(self._func, InputKind.WHOLE, sizes=sizes)

    def _near(self) -> list[int]:
        """The sizes next to constants that are larger than those of other arguments."""
        near = {constant + step for constant in self._constants for step in (-1, 0, 1)}
        return sorted(size for size in near if max(SIZES) < size <= LARGEST_SIZE)

    def _sample(self, among: Sequence[int], most: int) -> list[int]:
        return self._random.sample(among, min(len(among), most))

    def _numbers(self) -> dict[int, int]:
        """A number for each of the integer parameters, by position."""
        found: dict[int, int] = {}
        for place, dtype in self._scalars.items():
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            if place in self._counts:
                low, high = 0, LARGEST_SIZE
            number = self._number(low, high)
            if found and self._random.random() < 0.5:  # a pair with this difference
                number += self._random.choice(list(found.values()))
            found[place] = number if low <= number <= high else self._random.choice(SIZES)
        return found

    def _number(self, low: int, high: int) -> int:
        """A number next to a constant, to the result of two, or to an end of the range."""
        r = self._random
        if r.random() < 0.1:
            return r.choice((low, low + 1, high - 1, high))
        number = r.choice(self._constants)
        if r.random() < 0.25:
            number = r.choice(_OPERATIONS)(number, r.choice(self._constants))
        return r.choice((number, number, -number)) + r.choice((-1, 0, 1))


_OPERATIONS: tuple[Callable[[int, int], int], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // b if b else 0,
)


def _differ(before: Program, after: Program, args: list[Any]) -> bool | None:
    """True if the programs leave different memory; None if that cannot be found out.

    Raises:
        Unsupported, Mismatch: see `Program`.
    """
    old, new = copies(args), copies(args)
    try:
        before(*old)
    except Undefined:
        return False
    except NoResult:
        return None
    try:
        after(*new)
    except Undefined:
        return True
    except NoResult:
        return None
    return any(not _close(old[place], new[place]) for place in {*before.writes, *after.writes})


def _close(one: Any, other: Any) -> bool:
    if one.dtype.kind in "iub":
        return bool(np.array_equal(one, other))
    wide = one.astype("float64"), other.astype("float64")
    return bool(np.allclose(*wide, rtol=1e-2, atol=1e-2, equal_nan=True))


def _stays_in_range(func: tirx.PrimFunc, args: list[Any]) -> bool:
    """True if the function has no fault on the arguments, not even an integer that overflows."""
    try:
        return sanitize(func, args, SMALL, overflow=True) is None
    except NoResult:
        return False
