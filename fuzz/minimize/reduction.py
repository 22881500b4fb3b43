"""What a reduction is, and which parts of a list it tries first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias, TypeVar

import tvm

Edit: TypeAlias = Callable[[], tvm.IRModule | None]
"""Makes one smaller module; None where it turns out that it cannot. The input is left alone.

What an edit makes may be ill-formed: it is thrown away then. An edit that raises is a fault of the
reduction, and reported as such.
"""

Reduction: TypeAlias = Callable[[tvm.IRModule], Iterator[Edit]]
"""The edits to try on a module, best first; cheap to list, dear to make.

The order is the same in every process: an edit is named by its reduction and its number. Applied
again and again to its own results, a reduction comes to an end.
"""


@dataclass(frozen=True, slots=True, order=True)
class EditId:
    """The name of an edit: its reduction's place in the list, and its number there."""

    reduction: int = 0
    number: int = 0


FIRST = EditId()
"""Where a search begins."""


Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, set[Item]]:
    """The second parts of pairs by their first parts."""
    found: dict[Key, set[Item]] = {}
    for key, item in pairs:
        found.setdefault(key, set()).add(item)
    return found


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
