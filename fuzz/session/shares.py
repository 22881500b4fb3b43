"""Shares: how much of what a campaign checked of each pass shows something, and something new."""

from __future__ import annotations

from dataclasses import dataclass

from ..campaign.events import Finished


@dataclass(frozen=True, slots=True)
class Share:
    """The checks of a pass: how many there were, and what became of them."""

    checks: int
    known: int
    """Of them showed a known bug."""
    avoided: int
    """Modules that were left out, since they have what a known bug needs."""
    changed: int = 0
    """Checks in which the pass changed the module."""
    inapplicable: int = 0
    """Modules that it did not apply to, or that have nothing of what it looks for."""


def shares(finished: Finished) -> dict[str, Share]:
    """By item of the schedule."""
    return {
        name: Share(
            stats.checks,
            finished.known.get(name, 0),
            stats.avoided,
            stats.changed,
            stats.inapplicable,
        )
        for name, stats in finished.stats.items()
    }
