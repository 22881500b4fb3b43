"""The behaviours of each pass in a report: its kinds of changes, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..output.terminal import counted
from ..process.targets import PassStats, is_own
from .shares import in_order, is_single

MOST = 8
"""Most behaviours of a pass in one line."""


def did(stats: PassStats) -> list[tuple[str, int]]:
    """The behaviours of a pass, each with the number of checks, the most frequent first."""
    return sorted(stats.did.items(), key=lambda each: (-each[1], each[0]))


def of_passes(stats: Mapping[str, PassStats]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """The behaviours of the passes that did something, by item of the schedule."""
    every = ((item, did(stats[item])) for item in in_order(stats) if is_single(item))
    yield from (each for each in every if each[1])


def summary(found: Sequence[tuple[str, int]]) -> str:
    """Behaviours in one line."""
    listed = [f"{behaviour} {checks}" for behaviour, checks in found[:MOST]]
    more = len(found) - len(listed)
    return ", ".join([*listed, *([f"{more} more"] if more else [])])


def lines_on_own(stats: Mapping[str, PassStats]) -> Iterator[str]:
    """A line for each of the user's passes that did something."""
    for item, found in of_passes(stats):
        if is_own(item):
            yield f"{item} did {counted(len(found), 'thing')}: {summary(found)}"
