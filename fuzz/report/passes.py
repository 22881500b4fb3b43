"""Pass by pass: how often it was checked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from .data import Report, State
from .matrix import bare, in_order, is_single


@dataclass(frozen=True, slots=True)
class Share:
    """An item of the schedule in all runs of a store."""

    name: str
    checks: int
    applied: float
    """Of the modules that it was tried on, those that it applied to."""
    changed: float | None
    """Of the checks, those in which it changed the module; None: that is asked of passes only."""
    known: float
    """Of the checks, those that ended in a known bug."""
    avoided: int
    """Modules that were left out because a known bug would have been met."""
    rate: float
    """Checks a second; 0: unknown."""
    bugs: int
    """That it is blamed for, and that are not expected."""


RARE = 0.05
"""A pass that applies more seldom is hardly checked, whatever the number of modules."""


def shares(report: Report) -> list[Share]:
    """By item, in the order of the matrix."""
    known = report.known_reports
    all_stats = report.stats
    made = []
    for item in in_order(all_stats):
        stats = all_stats[item]
        tried = stats.checks + stats.inapplicable
        checks = max(1, stats.checks)
        blamed = [e for e in report.of(State.NEW, State.SEEN) if bare(item) in e.passes]
        made.append(
            Share(
                item,
                stats.checks,
                stats.checks / max(1, tried),
                stats.changed / checks if is_single(item) else None,
                min(1.0, known[item] / checks),
                stats.avoided,
                stats.checks / stats.seconds if stats.seconds else 0.0,
                len(blamed),
            )
        )
    return made
