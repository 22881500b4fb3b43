"""The workers of a cluster: which of them took part, and how they are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..output.terminal import counted
from ..process.executor import Member
from ..process.targets import marked

SHOWN = 8
"""At most so many have a line of their own."""

NAMED = 3
"""At most so many are named in one line."""


class Roster:
    """All workers of a cluster that took part in a campaign, also those that have left."""

    def __init__(self) -> None:
        self._past: dict[str, Member] = {}
        """By name: what a worker did before it left and came back."""
        self._last: dict[str, Member] = {}

    def see(self, members: Sequence[Member]) -> None:
        """Update with the workers that are there now."""
        for member in members:
            last = self._last.get(member.name)
            if last is not None and member.seconds < last.seconds:
                self._past[member.name] = self._whole(last)
            self._last[member.name] = member

    @property
    def all(self) -> tuple[Member, ...]:
        """In the order in which they joined, with all that they did."""
        return tuple(map(self._whole, self._last.values()))

    def _whole(self, member: Member) -> Member:
        past = self._past.get(member.name)
        if past is None:
            return member
        return dataclasses.replace(
            member,
            blocks=past.blocks + member.blocks,
            checks=past.checks + member.checks,
            seconds=past.seconds + member.seconds,
        )


def headcount(members: Sequence[Member]) -> str:
    """`3 workers with 12 threads`."""
    threads = sum(member.slots for member in members)
    return f"{counted(len(members), 'worker')} with {counted(threads, 'thread')}"


def lines(members: Sequence[Member]) -> list[str]:
    """A line for each, by name; the busiest where there are many, and the others as one."""
    shown, others = _busiest(members, SHOWN)
    cells = [
        (
            member.name,
            _padded(member.slots, "thread"),
            _padded(member.blocks, "block"),
            f"{rate(member):.0f} checks/s",
        )
        for member in shown
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    shown_lines = []
    for (name, *numbers), member in zip(cells, shown, strict=True):
        padded = [name.ljust(widths[0])]
        padded += [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        current = " ".join(map(marked, member.current))
        shown_lines.append(f"  {'  '.join(padded)}  {current}".rstrip())
    return shown_lines + [f"  {each}" for each in _rest(others)]


def line(members: Sequence[Member]) -> str:
    """All in one line: the busiest by name, and the others."""
    shown, others = _busiest(members, NAMED)
    named = [f"{member.name} {rate(member):.0f} checks/s" for member in shown]
    return f"{headcount(members)}: {', '.join(named + _rest(others))}"


def rate(member: Member) -> float:
    """Checks a second, in blocks that are done."""
    return member.checks / member.seconds if member.seconds else 0.0


def _padded(number: int, noun: str) -> str:
    """The singular is padded to the width of the plural."""
    return counted(number, noun) + " " * (number == 1)


def _busiest(members: Sequence[Member], count: int) -> tuple[list[Member], list[Member]]:
    """The busiest by name, so that lines keep their places while rates change; the others."""
    ranked = sorted(members, key=lambda member: (-rate(member), member.name))
    return sorted(ranked[:count], key=lambda member: member.name), ranked[count:]


def _rest(others: Sequence[Member]) -> list[str]:
    if not others:
        return []
    return [f"and {len(others)} more: {sum(map(rate, others)):.0f} checks/s"]
