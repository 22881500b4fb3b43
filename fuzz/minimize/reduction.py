"""The type of reductions, and the order in which they try parts of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias, TypeVar

import tvm

Edit: TypeAlias = Callable[[], tvm.IRModule | None]
"""Makes a smaller module, or None if that turns out to be impossible. The input stays unchanged.

The result of an edit may be ill-formed; it is then discarded. An edit that raises is a fault of the
reduction, and is reported as such.
"""

Reduction: TypeAlias = Callable[[tvm.IRModule], Iterator[Edit]]
"""The edits to try on a module, best first; they are cheap to list and expensive to make.

The order is the same in every process, as an edit is named by its reduction and its number. A
reduction that is applied repeatedly to its own results terminates.
"""


@dataclass(frozen=True, slots=True, order=True)
class EditId:
    """The name of an edit: the place of its reduction in the list, and its number there."""

    reduction: int = 0
    number: int = 0


FIRST = EditId()
"""The edit at which a search begins."""


Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, set[Item]]:
    """The second parts of pairs, grouped by their first parts."""
    found: dict[Key, set[Item]] = {}
    for key, item in pairs:
        found.setdefault(key, set()).add(item)
    return found


def runs(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The whole list, its halves, their halves, and so on down to single items; later parts first.

    The end comes first because few things depend on the late parts of a function.
    """
    size = len(items)
    while size:
        for stop in range(len(items), 0, -size):
            yield items[max(0, stop - size) : stop]
        size = (size + 1) // 2 if size > 1 else 0


def long_runs(items: Sequence[Item], parts: int, least: int = 1) -> Iterator[Sequence[Item]]:
    """The leading chunks of `runs`, down to `max(least, len(items) // parts)` items."""
    return takewhile(lambda run: len(run) >= max(least, len(items) // parts), runs(items))


def landmarks(count: int) -> list[int]:
    """Places in a list, starting with the first: dense at both ends, few in between.

    If one of them works, the remaining list is short; its landmarks are tried next, and so on.
    """
    if count <= 12:
        return list(range(count))
    near = [0]
    while (step := 2 * near[-1] + 1) < count // 2:
        near.append(step)
    return sorted({*near, count // 2, *(count - 1 - place for place in near)})
