"""Modules around what known bugs need: a pass whose checks mostly end in them is not tested.

What all modules have in common on which a known bug showed is its pattern (`features`). On modules
that have all of it a pass is checked only as often as leaves its other checks in the majority, but
never not at all: a known bug may be fixed, and another one may stand next to it. Where known bugs
end too many checks of a pass, some blocks are made without one feature of each pattern.

Which passes these are depends on the blocks long before, never on the clock.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from random import Random

from ...generators.traits import IMPLIES, Trait
from ...oracles import catalogue
from ...oracles.violation import Mark
from ..process.targets import Avoid, PassStats, Recipe
from .draw import entropy
from .features import WITHOUT, operator

MOST = 0.25
"""The share of the checks of a pass that may end in known bugs. The limit is 30 %: a block more is
under way when it is reached."""
CHECKS = 10
"""Fewer checks show no share."""
REPORTS = 3
"""What fewer modules have in common is mostly chance."""
FIRST = 1 / 16
"""The chance that a module with a pattern is checked where no chance was learned."""
LEAST = 1 / 64
"""The same for a pass most of whose checks end in known bugs."""
MADE = 0.5
"""The share of the blocks that are made for one of the passes."""


def hidden(stats: Mapping[str, PassStats], known: Mapping[str, int]) -> tuple[str, ...]:
    """The items of the schedule of which too many checks end in known bugs.

    Modules with a pattern on which a pass was not checked count as such checks: else a pass that
    is steered around them would soon be no longer.

    Args:
        stats: what was checked, by item.
        known: the checks of each item that showed a known bug.
    """
    return tuple(
        item
        for item, done in stats.items()
        if done.checks + done.avoided >= CHECKS
        and known.get(item, 0) + done.avoided > MOST * (done.checks + done.avoided)
    )


def chances(stats: Mapping[str, PassStats], known: Mapping[str, int]) -> dict[str, float]:
    """By item: the chance that it is checked on a module that has a pattern of a known bug.

    As many blocks are planned by it as there have been. With it, `MOST` of all checks end in known
    bugs, if each check of such a module does and no other.

    Args:
        stats, known: see `hidden`.
    """
    found = {}
    for item, done in stats.items():
        hits = known.get(item, 0)
        allowed = MOST * (2 * done.checks - done.triggered) - hits
        met = max(done.avoided + done.triggered, hits)
        if met:
            found[item] = min(1.0, max(LEAST, allowed / met))
    return found


def patterns(
    ended: Mapping[str, Mapping[Mark, int]], common: Mapping[Mark, frozenset[str]]
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """By item: the patterns of the known bugs that it was often enough seen to have.

    Args:
        ended: how often the checks of each item ended in each violation.
        common: what the modules of each known bug have in common.
    """
    found = {
        item: tuple(
            tuple(sorted(common[each]))
            for each, n in counts.items()
            if n >= REPORTS and common.get(each)
        )
        for item, counts in ended.items()
    }
    return {item: each for item, each in found.items() if each}


def steered(
    recipe: Recipe,
    items: Collection[str],
    avoid: Mapping[str, Avoid],
    seed: int,
    number: int,
) -> Recipe:
    """The recipe of a block, perhaps without what the known bugs of one of the items need.

    What the pass looks for stays, and what the recipe forces. A pattern lacks one of its features,
    another one in each block.

    Args:
        avoid: by item, the patterns of its known bugs.
    """
    usable = [item for item in items if item in avoid]
    random = Random(entropy("steered", seed, number))
    if not usable or random.random() >= MADE:
        return recipe
    item = random.choice(usable)
    contract = catalogue.contract_of(item)
    looks_for = None if contract is None else contract.looks_for
    sought = () if looks_for is None else looks_for.traits
    needed = set(recipe.forced).union(
        sought, *(IMPLIES.get(trait, ()) for trait in (*recipe.forced, *sought))
    )
    without = set(recipe.disabled)
    ops = recipe.ops
    for pattern in avoid[item].patterns:
        absent = [*_absent(pattern, needed, ops, () if looks_for is None else looks_for.ops)]
        if not absent:
            continue
        feature = random.choice(absent)
        without.update(WITHOUT.get(feature, ()))
        ops = tuple(op for op in ops if operator(feature) not in _operators(op))
    return dataclasses.replace(
        recipe,
        ops=ops,
        disabled=tuple(trait for trait in Trait if trait in without - needed),
    )


def _absent(
    pattern: Collection[str],
    needed: Collection[Trait],
    ops: Collection[str],
    sought: Collection[str],
) -> Iterator[str]:
    """The features of a pattern that modules can be made without."""
    for feature in pattern:
        name = operator(feature)
        if name is None:
            if not {*WITHOUT.get(feature, needed)}.issubset(needed):
                yield feature
        elif name not in sought and any(name not in _operators(each) for each in ops):
            yield feature


def _operators(chain: str) -> list[str]:
    """The operators of a chain of a recipe: in a row, or side by side."""
    return re.split(" [>&] ", chain)
