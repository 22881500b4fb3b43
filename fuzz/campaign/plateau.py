"""The schedule of a campaign: more checks for what still yields, fewer for what is on a plateau.

Each item (a pass, the sequences, a pipeline) has a base share of the checks, see `schedule`. It is
scaled, between `LEAST` and `MOST`, with the chance that the item's next check shows a violation not
seen before, by what the check costs. By Good and Turing the chance is about f1 / n, where f1 of n
observations are the only ones of their kind in the campaign: what a sequence shows is not new where
a pass alone has shown it (I. J. Good, "The population frequencies of species and the estimation of
population parameters", Biometrika 40, 1953; for fuzzing M. Boehme, "STADS: Software Testing as
Species Discovery", ACM TOSEM 27, 2018).

A block is planned by what blocks long before it have shown (`focus.horizon`), never by the clock:
any number of workers, and a campaign that was interrupted, make the same checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...oracles.pipelines import PIPELINES
from ...oracles.violation import Mark
from ..process.targets import PassStats

LEAST = 1 / 3
MOST = 3.0
"""Bounds of an item's share, as multiples of its base share."""

PRIOR = 40.0
"""Checks of an average item that are added to those of each: few checks are little evidence."""

CHANGED = 4.0
SEQUENCE = 4.0
PIPELINE = 20.0
"""What a check costs more if the pass changes the module, and what one of a sequence or a pipeline
costs, as multiples of a check of a pass that changes nothing. In a campaign of 25 minutes over all
passes these took 36, 45, 190 and 9 ms: `make bench-find FIND=--yield` has the checks and seconds of
each item. So costs are counted, and never taken from the clock."""

STEPS = 60
"""Of a bisection; more would not change the float."""


def cost(item: str, done: PassStats) -> float:
    """What a check of the item costs, as a multiple of one of a pass that changes nothing."""
    if item in PIPELINES:
        return PIPELINE
    if item == "sequence":
        return SEQUENCE
    return 1 + CHANGED * done.changed / max(1, done.checks)


def yields(
    stats: Mapping[str, PassStats], ended: Mapping[str, Mapping[Mark, int]]
) -> dict[str, float]:
    """By item: how likely its next check finds something new, by what that costs, as a multiple of
    the mean.

    Empty if no chance is above 0.

    Args:
        stats: what was checked.
        ended: how often the checks of each item ended in each violation.
    """
    seen: Counter[Mark] = Counter()
    for counts in ended.values():
        seen.update(counts)
    singles = {item: sum(seen[each] == 1 for each in ended.get(item, ())) for item in stats}
    checks = sum(each.checks for each in stats.values())
    if not any(singles.values()):
        return {}
    mean = sum(singles.values()) / checks
    costs = {item: cost(item, each) for item, each in stats.items()}
    usual = sum(costs[item] * each.checks for item, each in stats.items()) / checks
    return {
        item: (singles[item] + PRIOR * mean) / (each.checks + PRIOR) / mean * usual / costs[item]
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
