"""The time for one check. The caller of the check sets it; oracles ask if it is used up."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

OF_BUILD = 0.4
"""The share of a check's time for one build of a large module and its runs."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The time that is left for one check."""

    end: float
    """Time at which a pass is not run once more."""
    kinds_end: float
    """Time at which no further kinds of arguments are compared."""
    clock: Callable[[], float]
    """The clock of `end` and `kinds_end`."""
    build: float | None
    """Seconds of the clock for one build of a large module and its runs; None: the usual limit."""
    beat: Callable[[], None] | None
    """Called now and then during long work."""
    hard_end: float | None = None
    """Time at which evaluations end; None: no limit."""
    result_end: float | None = None
    """Time at which evaluations of a result end; None: as all evaluations."""


NO_TIME = "more time than is left for the check"

STEPS_A_SECOND = 200_000
"""The least number of iterations of a PrimFunc that NumPy makes in a second."""


_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)


@contextlib.contextmanager
def paced(
    seconds: float,
    build: float | None = None,
    beat: Callable[[], None] | None = None,
    *,
    kinds: float | None = None,
    results: float | None = None,
    hard: bool = False,
) -> Iterator[None]:
    """Limit the time that a check in this context spends beyond one run and one kind of arguments.

    Args:
        seconds: of CPU time; with `build`, of wall-clock time, since otherwise the last checks
            would get no time on a busy machine.
        build: see `Pace`.
        beat: see `Pace`.
        kinds: seconds for kinds of arguments; None: as for further runs.
        results: seconds after which no result of a pass is evaluated; None: no limit.
        hard: no evaluation goes on after `seconds`.
    """
    clock = time.process_time if build is None else time.monotonic
    now = clock()
    made = Pace(
        end=now + seconds,
        kinds_end=now + (seconds if kinds is None else min(seconds, kinds)),
        clock=clock,
        build=build,
        beat=beat,
        hard_end=now + seconds if hard else None,
        result_end=None if results is None else now + results,
    )
    with _in_force(made):
        yield


@contextlib.contextmanager
def of_result() -> Iterator[None]:
    """Limit evaluations in this context as those of the result of a pass.

    The module's own values are needed for all passes, so they are not limited in the same way.
    """
    pace = _pace.get()
    if pace is None or pace.result_end is None:
        yield
        return
    with _in_force(dataclasses.replace(pace, hard_end=pace.result_end)):
        yield


@contextlib.contextmanager
def _in_force(pace: Pace) -> Iterator[None]:
    token = _pace.set(pace)
    try:
        yield
    finally:
        _pace.reset(token)


def late() -> bool:
    """True if the time for another run is used up."""
    pace = _pace.get()
    return pace is not None and pace.clock() > pace.end


def late_for_kinds() -> bool:
    """True if the time for further kinds of arguments is used up."""
    pace = _pace.get()
    return pace is not None and pace.clock() > pace.kinds_end


def iterations(most: int) -> int:
    """The iterations that a PrimFunc may still make, up to `most`; 0 if the time is used up."""
    pace = _pace.get()
    if pace is None or pace.hard_end is None:
        return most
    return min(most, max(0, round((pace.hard_end - pace.clock()) * STEPS_A_SECOND)))


def of_build() -> tuple[float | None, Callable[[], None] | None]:
    """The limit in seconds for one build and its runs (None: the usual one), and a function to call
    now and then meanwhile."""
    pace = _pace.get()
    return (None, None) if pace is None else (pace.build, pace.beat)


def share(until: float, checks: int) -> float:
    """The seconds for the next one of the remaining checks.

    Each check has an equal part of the remaining time, so the last ones have time even if all
    passes change the module. Most passes do not, and leave their part to others.

    Args:
        until: `time.monotonic()` at which the time for all of them is used up.
    """
    return max(0.0, until - time.monotonic()) / checks
