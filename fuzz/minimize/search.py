"""The search: edits are tried, one after the other, as long as what is asked for holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import tvm

from ...oracles.well_formed import flaw
from .reduction import Reduction

Holds = Callable[[tvm.IRModule], bool]


@dataclass(frozen=True, slots=True)
class Smaller:
    """A smaller module for which it holds, and the edit that made it."""

    mod: tvm.IRModule
    reduction: int
    number: int


def search(mod: tvm.IRModule, holds: Holds, reductions: Sequence[Reduction]) -> Iterator[Smaller]:
    """Ever smaller modules for which `holds`; `mod` itself is taken to hold.

    What is not well-formed is never asked about. Each reduction is repeated until none of its
    edits holds, the list of them until none makes progress.
    """
    progress = True
    while progress:
        progress = False
        for place, reduction in enumerate(reductions):
            start = 0
            while (found := _first(mod, holds, reduction, place, start)) is not None:
                yield found
                # What failed on the larger module mostly fails on the smaller one too; the next
                # round over all reductions tries it again.
                mod, start, progress = found.mod, found.number, True


def _first(
    mod: tvm.IRModule, holds: Holds, reduction: Reduction, place: int, start: int
) -> Smaller | None:
    for number, edit in enumerate(reduction(mod)):
        if number < start:
            continue
        candidate = edit()
        if candidate is not None and flaw(candidate) is None and holds(candidate):
            return Smaller(candidate, place, number)
    return None


def reduce(mod: tvm.IRModule, holds: Holds, seconds: float) -> tvm.IRModule:
    """The smallest module found in that time for which `holds`."""
    from .reductions import REDUCTIONS

    deadline = time.monotonic() + seconds

    def in_time(candidate: tvm.IRModule) -> bool:
        return time.monotonic() < deadline and holds(candidate)

    for found in search(mod, in_time, REDUCTIONS):
        mod = found.mod
    return mod
