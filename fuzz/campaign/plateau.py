"""The schedule of a campaign: more checks for what still yields, fewer for what is on a plateau.

Each item (a pass, the sequences, a pipeline) has a base share of the checks, see `schedule`. It is
scaled, between `LEAST` and `MOST`, with the chance that the item's next check shows a violation not
seen before. By Good and Turing that is about f1 / n, where f1 of n observations were seen exactly
once (I. J. Good, "The population frequencies of species and the estimation of population
parameters", Biometrika 40, 1953; for fuzzing M. Boehme, "STADS: Software Testing as Species
Discovery", ACM TOSEM 27, 2018).

A block is planned by what blocks long before it have shown (`focus.horizon`), never by the clock:
any number of workers, and a campaign that was interrupted, make the same checks.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...oracles.violation import Identity
from ..process.targets import PassStats

LEAST = 1 / 3
MOST = 3.0
"""Bounds of an item's share, as multiples of its base share."""

PRIOR = 40.0
"""Checks of an average item that are added to those of each: few checks are little evidence."""

STEPS = 60
"""Of a bisection; more would not change the float."""


def yields(
    stats: Mapping[str, PassStats], ended: Mapping[str, Mapping[Identity, int]]
) -> dict[str, float]:
    """By item: the chance that its next check finds something new, as a multiple of the mean.

    Empty if no chance is above 0.

    Args:
        stats: what was checked.
        ended: how often the checks of each item ended in each violation.
    """
    singles = {item: sum(n == 1 for n in ended.get(item, {}).values()) for item in stats}
    checks = sum(each.checks for each in stats.values())
    if not any(singles.values()):
        return {}
    mean = sum(singles.values()) / checks
    return {
        item: (singles[item] + PRIOR * mean) / (each.checks + PRIOR) / mean
        for item, each in stats.items()
    }


def shares(base: Mapping[str, float], yields: Mapping[str, float]) -> dict[str, float]:
    """The shares of items, in proportion to their base shares and yields, within the bounds.

    Their sum is that of the base shares. Without yields they are the base shares.

    Args:
        yields: as above; an item without one is average.
    """
    if not yields:
        return dict(base)
    low, high = 0.0, MOST / min(1.0, *yields.values())

    def at(level: float) -> dict[str, float]:
        return {
            item: share * min(MOST, max(LEAST, level * yields.get(item, 1.0)))
            for item, share in base.items()
        }

    whole = sum(base.values())
    for _ in range(STEPS):
        middle = (low + high) / 2
        if sum(at(middle).values()) < whole:
            low = middle
        else:
            high = middle
    return at(high)
