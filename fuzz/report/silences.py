"""The rules of silence in a report: the checks in which each kept an oracle quiet, by pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...oracles.silence.inventory import RULES
from ...oracles.silence.rule import SilenceRule
from ..process.targets import PassStats

MOST = 6
"""Most passes to name for a rule."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of silence."""

    rule: SilenceRule
    checks: int
    """Number of checks in which it kept an oracle quiet."""
    passes: tuple[tuple[str, int], ...]
    """The passes with most of these checks."""
    others: int
    """Number of further passes."""


def silences(stats: Mapping[str, PassStats]) -> tuple[RuleRow, ...]:
    """The rules by the number of checks, the most frequent first.

    Args:
        stats: counts by item of the schedule.
    """
    found: dict[str, dict[str, int]] = {}
    for name, each in stats.items():
        for rule, checks in each.silenced.items():
            found.setdefault(rule, {})[name] = checks
    rows = [_row(RULES[rule], passes) for rule, passes in found.items() if rule in RULES]
    return tuple(sorted(rows, key=lambda row: (-row.checks, row.rule.name)))


def _row(rule: SilenceRule, passes: Mapping[str, int]) -> RuleRow:
    most = sorted(passes.items(), key=lambda item: (-item[1], item[0]))
    return RuleRow(rule, sum(passes.values()), tuple(most[:MOST]), len(most[MOST:]))
