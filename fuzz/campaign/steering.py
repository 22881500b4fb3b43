"""Modules around what triggers known bugs: a pass whose checks mostly end in them is not tested.

A trigger of a known bug says which traits of modules to leave out or to force (`corpus.triggers`).
Where known bugs end too many checks of a pass, most blocks check it only on modules without a
trigger, and some of these blocks are made for it. One block in `OPEN` is not steered: a known bug
may be fixed, and another one may stand next to it.

Which passes these are depends on the blocks long before, never on the clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from random import Random

from ...corpus.triggers import TRIGGERS
from ...generators.traits import IMPLIES, Trait
from ...oracles import catalogue
from ...oracles.violation import Identity
from ..process.targets import PassStats, Recipe
from .draw import entropy

MOST = 0.25
"""The share of the checks of a pass that may end in known bugs. The limit is 30 %: a block more is
under way when it is reached."""
CHECKS = 10
"""Fewer checks show no share."""
OPEN = 8
"""One block in so many is not steered."""
MADE = 0.5
"""The share of the other blocks that are made for one of the passes."""


def hidden(
    stats: Mapping[str, PassStats],
    ended: Mapping[str, Mapping[Identity, int]],
    known: Collection[Identity],
) -> tuple[str, ...]:
    """The items of the schedule of which too many checks end in known bugs.

    Modules with a trigger on which a pass was not checked count as such checks: else a pass that
    is steered around them would soon be no longer.

    Args:
        stats: what was checked.
        ended: how often the checks of each item ended in each violation.
        known: those that are known bugs.
    """
    return tuple(
        item
        for item, done in stats.items()
        if done.checks + done.avoided >= CHECKS
        and sum(n for each, n in ended.get(item, {}).items() if each in known) + done.avoided
        > MOST * (done.checks + done.avoided)
    )


def is_open(seed: int, number: int) -> bool:
    """The block is not steered."""
    return Random(entropy("open", seed, number)).randrange(OPEN) == 0


def steered(
    recipe: Recipe,
    items: Collection[str],
    avoid: Mapping[str, tuple[str, ...]],
    seed: int,
    number: int,
) -> Recipe:
    """The recipe of a block, perhaps without what triggers the known bugs of one of the items.

    What the pass looks for stays, and what the recipe forces.

    Args:
        avoid: by item, the names of the triggers.
    """
    usable = [item for item in items if avoid.get(item)]
    random = Random(entropy("steered", seed, number))
    if not usable or random.random() >= MADE:
        return recipe
    item = random.choice(usable)
    triggers = [TRIGGERS[name] for name in avoid[item]]
    contract = catalogue.contract_of(item)
    sought = () if contract is None or contract.looks_for is None else contract.looks_for.traits
    forced = {*recipe.forced, *(trait for each in triggers for trait in each.forced)}
    needed = forced.union(sought, *(IMPLIES.get(trait, ()) for trait in (*forced, *sought)))
    without = {*recipe.disabled, *(trait for each in triggers for trait in each.without)}
    return dataclasses.replace(
        recipe,
        forced=tuple(trait for trait in Trait if trait in forced),
        disabled=tuple(trait for trait in Trait if trait in without - needed),
    )
