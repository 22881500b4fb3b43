"""The choice of the next checks: the items of a campaign and their shares of the checks, the sample
of expensive oracles, the operators of a block and the traits that it leaves out.

All of this depends only on the seed, the block, and the checks of the block so far, never on the
clock. So any number of workers makes the same checks.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import tvm

from ...compat import availability
from ...generators.stages import RELAX, Stage, chain
from ...generators.traits import Trait
from ...oracles import contexts
from ...oracles.catalogue import documented
from ...oracles.contract import PassContract
from ...oracles.on_device import oracle as on_device
from ...oracles.oracle import Oracle
from ...oracles.passcall import PassCall
from ...oracles.tiers import ORACLES, USUAL
from ...oracles.values import evaluated, executed, sanitized
from ..jobs.draw import entropy
from ..process.targets import Target
from . import costs
from .costs import PassCost

MODULES_IN_BLOCK = 16
"""Modules of one child process: enough to amortize its fork, few enough to keep it small."""

CHECKS_AT_RAW = 8
CHECKS_AT_LATER = 4
"""Checks of one module at one stage, which share the cost of the module. The first stage has the
most passes, and meets three times as many known bugs per time as the others. With 14 and 6, a
campaign met 88 known bugs in its first 90 CPU seconds instead of 109 (`make bench-find`)."""

EXPENSIVE = 4.0
"""Multiple of the median cost above which a pass gets the least share."""
LEAST = 0.012
"""The least share: a little over 1 %, to allow for rounding in each block."""
SEQUENCES = 0.03
PIPELINES = ("zero", "default", "cpu_generic")
PIPELINE = 0.006
"""The share of each pipeline. All of them take a tenth of the time, since each runs up to 18
passes; with 0.4 % they took 7 %."""

CONTEXTS = 0.05
"""The share of the checks of TVM's passes that run under an option of the PassContext. Options that
a pass is known to read are among its variants; the others must have no effect."""

ELSEWHERE = 0.1
"""The chance that a pass is checked on a module without the feature it looks for. It must leave
such a module unchanged."""

SPENT = {2: 0.6, 3: 10.0, 4: 0.15}
"""Milliseconds that a check spends on each oracle of a tier, on average, times the oracle's
`worth`.

Evaluation is the cheap way to find wrong values, which no other oracle finds, so it gets about as
much time as tier 1.
"""

MODULES_ASKED = 0.1
"""The share of the modules, at each stage, on which an oracle above tier 1 may run at all."""

ON_DEVICE = 0.1
"""The share of the checks on a device, if one is requested: all checks of a few modules. The cost
of a check depends on the device."""

SWARM = 0.15
"""The chance that a trait is left out of all modules of a block."""
OPERATORS = 40
"""Operators of a block, out of some two hundred; enough for each to meet many others."""
SEQUENCE_LENGTHS = (2, 8)
IN_PIPELINES = 0.5
"""The chance that a pass of a sequence is the successor in a pipeline of TVM, as users meet these
orders. The other orders are untried."""
TRIES = 6
"""Passes to test for applicability before a sequence ends."""


class ItemKind(enum.Enum):
    """The kind of an item of the schedule."""

    PASS = enum.auto()
    SEQUENCE = enum.auto()
    PIPELINE = enum.auto()


@dataclass(frozen=True, slots=True)
class ScheduleItem:
    """A pass, the sequences or a pipeline, with its share of the checks."""

    name: str
    kind: ItemKind
    share: float
    stages: frozenset[Stage]
    expensive: bool = False

    def at(self, stage: Stage, checked: Mapping[str, int]) -> bool:
        """Return whether it takes modules of this stage, and within its share if expensive."""
        affordable = not self.expensive or checked.get(self.name, 0) <= self.share * sum(
            checked.values()
        )
        return affordable and stage in self.stages


def items(
    targets: Sequence[Target],
    contracts: Mapping[str, PassContract],
    compositions: bool,
) -> list[ScheduleItem]:
    """The items of a block; their shares add up to 1, if there are targets.

    The block of a large module of the user's has none; only pipelines check that module whole.
    Expensive passes get 1.2 % each, or the share in `costs`. Pipelines get 0.6 % each, and
    sequences 3 %. Cheap passes share the rest equally.
    """
    off = availability.current()
    known = [_cost(target, contracts[target.label]) for target in targets]
    usual = statistics.median(cost.ms for cost in known) if known else 0.0
    expensive = [cost.ms > EXPENSIVE * usual for cost in known]
    composed = SEQUENCES + PIPELINE * len(PIPELINES) if compositions else 0.0
    fixed = [
        cost.share or (LEAST if is_expensive else None)
        for cost, is_expensive in zip(known, expensive, strict=True)
    ]
    cheap = (1 - composed - sum(filter(None, fixed))) / max(1, fixed.count(None))
    chosen = [
        ScheduleItem(
            target.label,
            ItemKind.PASS,
            cheap if share is None else share,
            frozenset(target.stages or contracts[target.label].stages).difference(off.stages),
            share is not None,
        )
        for target, share in zip(targets, fixed, strict=True)
    ]
    if compositions:
        everywhere = frozenset().union(*(item.stages for item in chosen))
        if everywhere:
            chosen.append(ScheduleItem("sequence", ItemKind.SEQUENCE, SEQUENCES, everywhere))
        # The pipelines run on Relax.
        chosen += [
            ScheduleItem(name, ItemKind.PIPELINE, PIPELINE, frozenset({Stage.RAW}), True)
            for name in PIPELINES
            if name not in off.pipelines and everywhere <= RELAX.keys()
        ]
    return chosen


def _cost(target: Target, contract: PassContract) -> PassCost:
    return costs.of_pass(contract, None if target.call is None else target.call.like)


def neediest(
    items: Sequence[ScheduleItem], checked: Mapping[str, int], random: Random
) -> list[ScheduleItem]:
    """The items, sorted by their deficit against their share; ties are in random order."""
    return sorted(items, key=lambda item: (checked.get(item.name, 0) / item.share, random.random()))


def destination(items: Sequence[ScheduleItem], visited: Mapping[str, int], random: Random) -> Stage:
    """The last stage of the next module: one that the item with the largest deficit takes.

    Args:
        visited: number of times that each item was checked or did not apply. Later stages do not
            help an item of an early stage that rarely applies.
    """
    return random.choice(sorted(neediest(items, visited, random)[0].stages, key=list(Stage).index))


def checks_at(stage: Stage) -> int:
    """The number of checks of a module at this stage."""
    return CHECKS_AT_RAW if stage is chain(stage)[0] else CHECKS_AT_LATER


def oracles_of_module(random: Random, device: str | None = None) -> tuple[Oracle, ...]:
    """The oracles above tier 1 for which some checks of a module at a stage are sampled.

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
    """The oracles above tier 1 for which a check is sampled; usually none.

    An oracle runs in many checks of few modules, so that its preparations for a module, such as a
    copy under other names, are made only once. Each pass meets the oracle as often as if each check
    were sampled separately.

    Args:
        among: the oracles of the module.
    """
    drawn = {each.name for each in among if random.random() < share(each) / spread(each)}
    if executed.ORACLE.name in drawn:
        # If both find a violation, only the first oracle reports it.
        drawn.add(evaluated.ORACLE.name)
    if not drawn.isdisjoint(on_device.NAMES):
        # Only results with right and deterministic values run on a device.
        drawn |= {sanitized.ORACLE.name, evaluated.ORACLE.name}
    return tuple(name for name in ORACLES if name in drawn)


def spread(oracle: Oracle) -> float:
    """The share of the modules on which an oracle above tier 1 runs."""
    return max(share(oracle), MODULES_ASKED)


def share(oracle: Oracle) -> float:
    """The share of the checks that are sampled for an oracle above tier 1."""
    if oracle.name not in USUAL:
        return ON_DEVICE
    cost = costs.of_oracle(oracle.name)
    return min(1.0, SPENT[oracle.tier] * cost.worth / cost.ms)


def worthwhile(contract: PassContract, mod: tvm.IRModule, random: Random) -> bool:
    """Return whether the pass is checked here: the module has its feature, or by chance."""
    anyway = random.random() < ELSEWHERE
    return anyway or contract.looks_for is None or contract.looks_for.has(mod)


def in_turn(passes: Sequence[str], after: str, turn: int, seed: int) -> list[str]:
    """The passes in the order in which they are tried after another one.

    A different pass comes first in each turn, for as many turns as there are passes. So no pair
    repeats before all others were tried. This needs no record of pairs, which would depend on the
    workers.
    """
    order = sorted(passes)
    Random(entropy("pairs", seed, after)).shuffle(order)
    first = turn % len(order)
    return order[first:] + order[:first]


def in_context(
    calls: tuple[PassCall, ...], random: Random, config: Mapping[str, Any] = {}
) -> tuple[PassCall, ...]:
    """Return the calls under these options; for TVM's own passes, now and then also under another
    option of the PassContext."""
    calls = contexts.under(calls, config)
    if random.random() >= CONTEXTS or not all(map(documented, calls)):
        return calls
    return contexts.under(calls, contexts.draw(random))


def family(targets: Mapping[str, Sequence[Target]], seed: int, block: int) -> str:
    """The family of a block: families get blocks in proportion to their numbers of targets."""
    names = list(targets)
    weights = [len(targets[name]) for name in names]
    return Random(entropy("family", seed, block)).choices(names, weights)[0]


def disabled(seed: int, block: int) -> tuple[Trait, ...]:
    """The traits that no module of this block has (swarm testing).

    Modules without some traits reach corners that mixed modules do not.
    """
    random = Random(entropy("swarm", seed, block))
    return tuple(trait for trait in Trait if random.random() < SWARM)


def operators(names: Sequence[str], seed: int, block: int) -> tuple[str, ...]:
    """The operators of which this block's modules are made.

    A few consecutive blocks together have all operators. With random choices, a short campaign
    would make no call of many operators.
    """
    groups = max(1, len(names) // OPERATORS)
    order = sorted(names)
    Random(entropy("operators", seed, block // groups)).shuffle(order)
    return tuple(order[block % groups :: groups])


def blocks(modules: int | None, size: int = MODULES_IN_BLOCK) -> Iterator[tuple[int, int]]:
    """First index and count of each block of a campaign; endless if `modules` is None."""
    start = 0
    while modules is None or start < modules:
        count = size if modules is None else min(size, modules - start)
        yield start, count
        start += count
