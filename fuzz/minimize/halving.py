"""Which runs of a list to try, long ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TypeVar

Item = TypeVar("Item")


def runs(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The whole list, its halves, their halves, and so on to single items, from the end on.

    The end first: what comes late in a function is what few other things depend on.
    """
    size = len(items)
    while size:
        for stop in range(len(items), 0, -size):
            yield items[max(0, stop - size) : stop]
        size = (size + 1) // 2 if size > 1 else 0


def long_runs(items: Sequence[Item], parts: int, least: int = 1) -> Iterator[Sequence[Item]]:
    """The first of `runs`: as long as a part of the list if there were so many, and as `least`."""
    return takewhile(lambda run: len(run) >= max(least, len(items) // parts), runs(items))


def landmarks(count: int) -> list[int]:
    """Places in a list from the first on: dense at both ends, few in between.

    If one works, what is left is short; the places of that are tried next, and so on.
    """
    if count <= 12:
        return list(range(count))
    near = [0]
    while (step := 2 * near[-1] + 1) < count // 2:
        near.append(step)
    return sorted({*near, count // 2, *(count - 1 - place for place in near)})
