"""The table by pass: the number of its checks, and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...oracles.catalogue import catalogue
from ...oracles.pipelines import PIPELINES
from ..process.targets import is_own
from .data import EntryState, Report

SEQUENCE = "sequence"
"""The schedule's name for random lists of passes."""

RARE = 0.05
"""Share of modules; a pass that applies to fewer is hardly checked."""


@dataclass(frozen=True, slots=True)
class ItemStats:
    """The statistics of an item of the schedule over all runs."""

    name: str
    checks: int
    applied: float
    """The share of modules to which it applied."""
    changed: float | None
    """The share of checks in which it changed the module; None unless it is a single pass."""
    known: float
    """The share of checks that ended in a known bug."""
    rate: float
    """Checks per second; 0 if unknown."""
    bugs: int
    """Unknown bugs for which it is blamed."""


def shares(report: Report) -> list[ItemStats]:
    """The statistics by item; see `in_order`."""
    known = report.known_reports
    all_stats = report.stats
    unknown = report.of(EntryState.NEW, EntryState.SEEN)
    made = []
    for item in in_order(all_stats):
        stats = all_stats[item]
        tried = stats.checks + stats.inapplicable
        checks = max(1, stats.checks)
        made.append(
            ItemStats(
                item,
                stats.checks,
                stats.checks / max(1, tried),
                stats.changed / checks if is_single(item) else None,
                min(1.0, known[item] / checks),
                stats.checks / stats.seconds if stats.seconds else 0.0,
                sum(bare(item) in each.passes for each in unknown),
            )
        )
    return made


def in_order(items: Iterable[str]) -> list[str]:
    """Sort the items: a user's passes, TVM's in the catalogue's order, then lists and pipelines."""
    order = {name: number for number, name in enumerate((*catalogue, SEQUENCE, *PIPELINES))}
    return sorted(items, key=lambda i: (-1 if is_own(i) else order.get(bare(i), -1), i))


def is_single(item: str) -> bool:
    """Return whether an item is a single pass, not a list or a pipeline."""
    return item != SEQUENCE and item not in PIPELINES


def bare(item: str) -> str:
    """The name of the pass of an item: "FuseOps" for "FuseOps(fuse_opt_level=2)"."""
    return item.split("(", 1)[0].rsplit(".", 1)[-1]
