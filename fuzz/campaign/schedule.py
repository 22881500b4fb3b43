"""What is checked next: the items of a campaign, the share of checks each shall get, the sample of
dear oracles, the features that a block goes without.

Everything here is a function of the seed, the block and what the block itself has checked so far,
and of what blocks long before it have yielded, never of the clock: any number of workers checks the
same.
"""

from __future__ import annotations

import dataclasses
import enum
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ...generators.stages import Stage
from ...generators.traits import Trait
from ...oracles.contract import PassContract
from ...oracles.oracle import Oracle
from ...oracles.tiers import ORACLES
from ...oracles.values import evaluated, executed
from ..process.targets import Target
from . import plateau
from .draw import entropy

MODULES_IN_BLOCK = 16
"""A child's life: long enough to pay for its fork, short enough to keep it small."""

CHECKS_AT_RAW = 14
CHECKS_AT_LATER = 6
"""Checks of one module at one stage: what a new module costs is spread over them. More passes are
at home at the first."""

DEAR = 4.0
"""A pass that costs so many times the median gets the least share."""
LEAST = 0.012
"""A little over 1 %, for what rounding takes in each block."""
SEQUENCES = 0.03
PIPELINES = ("zero", "default", "cpu_generic")
PIPELINE = 0.004
"""Of each pipeline. One runs up to 18 passes, which get their own checks besides."""

SPENT = {2: 0.3, 3: 1.5, 4: 0.15}
"""Milliseconds that a check spends on each oracle of a tier above the first, on average.

Wrong values are what nothing else sees, and evaluation is the cheap way to see them: it gets about
as much time as tier 1.
"""

SWARM = 0.15
"""Chance of a trait to be left out of all modules of a block."""
SEQUENCE_LENGTHS = (2, 5)


class Kind(enum.Enum):
    """What an item of the schedule is."""

    PASS = enum.auto()
    SEQUENCE = enum.auto()
    PIPELINE = enum.auto()


@dataclass(frozen=True, slots=True)
class Item:
    """Something that gets a share of the checks."""

    name: str
    kind: Kind
    share: float
    stages: frozenset[Stage]
    dear: bool = False

    def at(self, stage: Stage, checked: Mapping[str, int]) -> bool:
        """It is at home at this stage, and not a dear one that has had its share already."""
        affordable = not self.dear or checked.get(self.name, 0) <= self.share * sum(
            checked.values()
        )
        return affordable and stage in self.stages


def items(
    targets: Sequence[Target],
    contracts: Mapping[str, PassContract],
    compositions: bool,
    yields: Mapping[str, float] = {},
) -> list[Item]:
    """The items of a campaign; their shares sum up to 1.

    Dear passes get 1.2 % each, pipelines 0.4 %, sequences 3 %; cheap passes share the rest equally.
    Then those get more that still yield.

    Args:
        yields: by item, see `plateau`.
    """
    costs = [contracts[target.label].cost for target in targets]
    dear = [cost > DEAR * statistics.median(costs) for cost in costs]
    composed = SEQUENCES + PIPELINE * len(PIPELINES) if compositions else 0.0
    cheap = (1 - composed - LEAST * sum(dear)) / max(1, len(dear) - sum(dear))
    chosen = [
        Item(
            target.label,
            Kind.PASS,
            LEAST if is_dear else cheap,
            frozenset(target.stages or contracts[target.label].stages),
            is_dear,
        )
        for target, is_dear in zip(targets, dear, strict=True)
    ]
    if compositions:
        everywhere = frozenset().union(*(item.stages for item in chosen))
        chosen.append(Item("sequence", Kind.SEQUENCE, SEQUENCES, everywhere))
        chosen += [
            Item(name, Kind.PIPELINE, PIPELINE, frozenset({Stage.RAW}), True) for name in PIPELINES
        ]
    shares = plateau.shares({item.name: item.share for item in chosen}, yields)
    return [dataclasses.replace(item, share=shares[item.name]) for item in chosen]


def neediest(items: Sequence[Item], checked: Mapping[str, int], random: Random) -> list[Item]:
    """The items, those first that lag furthest behind their share; ties in random order."""
    return sorted(items, key=lambda item: (checked.get(item.name, 0) / item.share, random.random()))


def destination(items: Sequence[Item], visited: Mapping[str, int], random: Random) -> Stage:
    """The last stage that the next module is taken to: one where the neediest item is at home.

    Args:
        visited: how often each item was checked, or did not apply: going further does not help
            an item that is at home early and seldom applies.
    """
    return random.choice(sorted(neediest(items, visited, random)[0].stages, key=list(Stage).index))


def checks_at(stage: Stage) -> int:
    """How many checks a module gets at this stage."""
    return CHECKS_AT_RAW if stage is Stage.RAW else CHECKS_AT_LATER


def avoids(index: int) -> bool:
    """A pass leaves this module out if a known bug of it would be met: half of them.

    The other half shows when a known bug is gone, or has company.
    """
    return index % 2 == 0


def oracles(random: Random) -> tuple[str, ...]:
    """The oracles above tier 1 that a check is sampled for; mostly none."""
    drawn = {
        name
        for name, oracle in ORACLES.items()
        if oracle.tier > 1 and random.random() < share(oracle)
    }
    if executed.ORACLE.name in drawn:
        # What both see is told once, by the one that is asked first.
        drawn.add(evaluated.ORACLE.name)
    return tuple(name for name in ORACLES if name in drawn)


def share(oracle: Oracle) -> float:
    """Of the checks, those that are sampled for an oracle above tier 1."""
    return min(1.0, SPENT[oracle.tier] / oracle.cost)


def disabled(seed: int, block: int) -> tuple[Trait, ...]:
    """The traits that no module of this block has.

    A block without some traits reaches corners that modules with a bit of everything do not.
    """
    random = Random(entropy("swarm", seed, block))
    return tuple(trait for trait in Trait if random.random() < SWARM)


def blocks(modules: int | None, size: int = MODULES_IN_BLOCK) -> Iterator[tuple[int, int]]:
    """First index and count of each block of a campaign; endless where `modules` is None."""
    start = 0
    while modules is None or start < modules:
        count = size if modules is None else min(size, modules - start)
        yield start, count
        start += count
