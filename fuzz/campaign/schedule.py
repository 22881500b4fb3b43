"""What is checked next: the items of a campaign and their shares of the checks, the sample of
expensive oracles, the operators of a block and the traits that it leaves out.

Everything here is a function of the seed, the block and what the block itself has checked so far,
and of what blocks long before it have yielded, never of the clock: any number of workers checks the
same.
"""

from __future__ import annotations

import dataclasses
import enum
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import tvm

from ...compat import availability
from ...generators.stages import RELAX, Stage, chain
from ...generators.traits import Trait
from ...oracles import contexts
from ...oracles.composition import documented
from ...oracles.contract import PassContract
from ...oracles.on_device import oracle as on_device
from ...oracles.oracle import Oracle
from ...oracles.passcall import PassCall
from ...oracles.tiers import ORACLES, USUAL
from ...oracles.values import evaluated, executed, sanitized
from ..process.targets import Target
from . import plateau
from .draw import entropy

MODULES_IN_BLOCK = 16
"""Of one child process: enough to pay for its fork, few enough to keep it small."""

CHECKS_AT_RAW = 8
CHECKS_AT_LATER = 4
"""Checks of one module at one stage, which share the cost of the module. The first stage has the
most passes, and meets three times as many known bugs in the same time as the others. With 14 and 6
a campaign met 88 known bugs in its first 90 CPU seconds instead of 109 (`make bench-find`)."""

EXPENSIVE = 4.0
"""A pass that costs more than so many times the median gets the least share."""
LEAST = 0.012
"""A little over 1 %, for what rounding takes in each block."""
SEQUENCES = 0.03
PIPELINES = ("zero", "default", "cpu_generic")
PIPELINE = 0.004
"""The share of each pipeline. It runs up to 18 passes, which also get checks of their own."""

CONTEXTS = 0.05
"""The share of the checks of TVM's passes that are made under an option of the PassContext. Those
that a pass is known to read are among its variants; the others must change nothing."""

ELSEWHERE = 0.1
"""The chance that a pass is checked on a module that has nothing of what it looks for, which it
must leave as it is."""

SPENT = {2: 0.6, 3: 10.0, 4: 0.15}
"""By tier: milliseconds that a check spends on each of its oracles, on average, times its `worth`.

Evaluation is the cheap way to find wrong values, which no other oracle finds: it gets about as much
time as tier 1.
"""

MODULES_ASKED = 0.1
"""The share of the modules, at each stage, on which an oracle above tier 1 may be asked at all."""

ON_DEVICE = 0.1
"""The share of the checks on a device, where somebody wants one: all checks of few modules. What a
check takes depends on the device."""

SWARM = 0.15
"""The chance that a trait is left out of all modules of a block."""
OPERATORS = 40
"""Of a block, of some two hundred; enough that each meets many others."""
SEQUENCE_LENGTHS = (2, 8)
IN_PIPELINES = 0.5
"""The chance that a pass of a sequence is the one that follows in a pipeline of TVM's: orders that
users meet. The others are the orders that nobody has tried."""
TRIES = 6
"""So many passes are asked whether they apply before a sequence ends."""


class Kind(enum.Enum):
    """The kind of an item of the schedule."""

    PASS = enum.auto()
    SEQUENCE = enum.auto()
    PIPELINE = enum.auto()


@dataclass(frozen=True, slots=True)
class Item:
    """A pass, the sequences or a pipeline, with its share of the checks."""

    name: str
    kind: Kind
    share: float
    stages: frozenset[Stage]
    expensive: bool = False

    def at(self, stage: Stage, checked: Mapping[str, int]) -> bool:
        """It takes modules of this stage, and is not expensive with its share used up."""
        affordable = not self.expensive or checked.get(self.name, 0) <= self.share * sum(
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

    Expensive passes get 1.2 % each, or what their contracts say, pipelines 0.4 %, sequences 3 %;
    cheap passes share the rest equally. Then the shares are weighted with the yields.

    Args:
        yields: by item, see `plateau`.
    """
    off = availability.current()
    costs = [contracts[target.label].cost for target in targets]
    expensive = [cost > EXPENSIVE * statistics.median(costs) for cost in costs]
    composed = SEQUENCES + PIPELINE * len(PIPELINES) if compositions else 0.0
    fixed = [
        contracts[target.label].share or (LEAST if is_expensive else None)
        for target, is_expensive in zip(targets, expensive, strict=True)
    ]
    cheap = (1 - composed - sum(filter(None, fixed))) / max(1, fixed.count(None))
    chosen = [
        Item(
            target.label,
            Kind.PASS,
            cheap if share is None else share,
            frozenset(target.stages or contracts[target.label].stages).difference(off.stages),
            share is not None,
        )
        for target, share in zip(targets, fixed, strict=True)
    ]
    if compositions:
        everywhere = frozenset().union(*(item.stages for item in chosen))
        if everywhere:
            chosen.append(Item("sequence", Kind.SEQUENCE, SEQUENCES, everywhere))
        # The pipelines are of Relax.
        chosen += [
            Item(name, Kind.PIPELINE, PIPELINE, frozenset({Stage.RAW}), True)
            for name in PIPELINES
            if name not in off.pipelines and everywhere <= RELAX.keys()
        ]
    shares = plateau.shares({item.name: item.share for item in chosen}, yields)
    return [dataclasses.replace(item, share=shares[item.name]) for item in chosen]


def neediest(items: Sequence[Item], checked: Mapping[str, int], random: Random) -> list[Item]:
    """The items, those furthest behind their share first; ties in random order."""
    return sorted(items, key=lambda item: (checked.get(item.name, 0) / item.share, random.random()))


def destination(items: Sequence[Item], visited: Mapping[str, int], random: Random) -> Stage:
    """The last stage of the next module: one that the neediest item takes.

    Args:
        visited: how often each item was checked, or did not apply. Later stages do not help an
            item of an early stage that seldom applies.
    """
    return random.choice(sorted(neediest(items, visited, random)[0].stages, key=list(Stage).index))


def checks_at(stage: Stage) -> int:
    """The number of checks of a module at this stage."""
    return CHECKS_AT_RAW if stage is chain(stage)[0] else CHECKS_AT_LATER


def oracles_of_module(random: Random, device: str | None = None) -> tuple[Oracle, ...]:
    """The oracles above tier 1 that some checks of a module at a stage are sampled for.

    Args:
        device: the kind of the device on which a sample is executed.
    """
    asked = {*USUAL, *([on_device.name_of(device)] if device is not None else ())}
    drawn = (
        oracle
        for oracle in ORACLES.values()
        if oracle.tier > 1 and oracle.name in asked and random.random() < spread(oracle)
    )
    off = availability.current().oracles
    return tuple(oracle for oracle in drawn if oracle.name not in off)


def oracles(among: Iterable[Oracle], random: Random) -> tuple[str, ...]:
    """The oracles above tier 1 that a check is sampled for; usually none.

    An oracle is asked in many checks of few modules: what it needs of a module, such as a copy
    under other names, is made once for all of them. Each pass meets it as often as if each check
    were sampled by itself.

    Args:
        among: those of the module.
    """
    drawn = {each.name for each in among if random.random() < share(each) / spread(each)}
    if executed.ORACLE.name in drawn:
        # What both find is reported once, by the one that comes first.
        drawn.add(evaluated.ORACLE.name)
    if not drawn.isdisjoint(on_device.NAMES):
        # Only what has the right values, and leaves none to chance, is executed on a device.
        drawn |= {sanitized.ORACLE.name, evaluated.ORACLE.name}
    return tuple(name for name in ORACLES if name in drawn)


def spread(oracle: Oracle) -> float:
    """The share of the modules that an oracle above tier 1 is asked for."""
    return max(share(oracle), MODULES_ASKED)


def share(oracle: Oracle) -> float:
    """The share of the checks that are sampled for an oracle above tier 1."""
    if oracle.on_request:
        return ON_DEVICE
    return min(1.0, SPENT[oracle.tier] * oracle.worth / oracle.cost)


def worthwhile(contract: PassContract, mod: tvm.IRModule, random: Random) -> bool:
    """Whether the pass is checked here: the module has what it looks for, or by chance."""
    anyway = random.random() < ELSEWHERE
    return anyway or contract.looks_for is None or contract.looks_for.has(mod)


def in_turn(passes: Sequence[str], after: str, turn: int, seed: int) -> list[str]:
    """The passes in the order in which they are to follow another one.

    In each of as many turns as there are passes another one comes first, so no pair is tried again
    before every other. No record of the pairs is needed, which would depend on who works.
    """
    order = sorted(passes)
    Random(entropy("pairs", seed, after)).shuffle(order)
    first = turn % len(order)
    return order[first:] + order[:first]


def in_context(calls: tuple[PassCall, ...], random: Random) -> tuple[PassCall, ...]:
    """The same, now and then under an option of the PassContext, if they are TVM's own."""
    if random.random() >= CONTEXTS or not all(map(documented, calls)):
        return calls
    return contexts.under(calls, contexts.draw(random))


def family(targets: Mapping[str, Sequence[Target]], seed: int, block: int) -> str:
    """The family that a block is of: each gets blocks by the number of its targets."""
    names = list(targets)
    weights = [len(targets[name]) for name in names]
    return Random(entropy("family", seed, block)).choices(names, weights)[0]


def disabled(seed: int, block: int) -> tuple[Trait, ...]:
    """The traits that no module of this block has (swarm testing).

    Modules without some traits reach corners that modules with a bit of everything do not.
    """
    random = Random(entropy("swarm", seed, block))
    return tuple(trait for trait in Trait if random.random() < SWARM)


def operators(names: Sequence[str], seed: int, block: int) -> tuple[str, ...]:
    """The operators that this block's modules are made of.

    A few blocks in a row have all of them between them: a short campaign, which makes a few calls
    of each operator on average, would by chance make none of many.
    """
    groups = max(1, len(names) // OPERATORS)
    order = sorted(names)
    Random(entropy("operators", seed, block // groups)).shuffle(order)
    return tuple(order[block % groups :: groups])


def blocks(modules: int | None, size: int = MODULES_IN_BLOCK) -> Iterator[tuple[int, int]]:
    """First index and count of each block of a campaign; endless where `modules` is None."""
    start = 0
    while modules is None or start < modules:
        count = size if modules is None else min(size, modules - start)
        yield start, count
        start += count
