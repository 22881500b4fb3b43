"""The checks of a campaign: their rate, and the cost of their parts."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from relaxfuzz.fuzz import zygote
from relaxfuzz.fuzz.campaign import block as blocks
from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.campaign.block import Block, ModuleDone, Rest, StageDone
from relaxfuzz.fuzz.process.context import Context
from relaxfuzz.fuzz.process.journal import Journal
from relaxfuzz.fuzz.process.protocol import FromChild, Result
from relaxfuzz.fuzz.process.targets import Recipe, Target
from relaxfuzz.generators.families import DEFAULT
from relaxfuzz.oracles import check as checks
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.oracle import Oracle
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.values import pipeline_values
from relaxfuzz.oracles.violation import Violation

from .clock import Clock
from .forks import Report, in_fork


@dataclass(slots=True)
class Throughput:
    """The totals of the same blocks."""

    checks: int = 0
    modules: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    by_item: Counter[str] = field(default_factory=Counter)
    executions: list[tuple[float, float]] = field(default_factory=list)
    """CPU seconds of executions in the VM, cold and warm, if they are watched."""

    @property
    def rate(self) -> float:
        """Checks per CPU second."""
        return self.checks / self.cpu if self.cpu else 0.0


@dataclass(slots=True)
class Costs:
    """The cost of each part, in CPU seconds."""

    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)
    whole: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The cost of each check, by pass, including oracles."""
    bare: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The cost of the direct run in each check, by pass."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of `measure`."""

    alone: Throughput = field(default_factory=Throughput)
    """The throughput with tier 1 alone."""
    sampled: Throughput = field(default_factory=Throughput)
    """The throughput with all tiers, as in a campaign."""
    oracles: Costs = field(default_factory=Costs)
    """The costs of the oracles of all tiers."""
    costs: Costs = field(default_factory=Costs)
    """The costs of the parts of a check with tier 1 alone."""


def measure(seed: int, modules: int) -> Measured:
    """Measure tier 1 alone, all tiers with the cost of each oracle, and the parts of a check."""
    zygote.warm_up()
    measured = Measured()
    for number, (start, count) in enumerate(schedule.blocks(modules)):
        block = block_of(seed, number, start, count)
        run_block(block, _no_samples, measured.alone)
        run_block(block, _watch_oracles, measured.sampled, measured.oracles)
        run_block(block, _watch, Throughput(), measured.costs)
    return measured


def block_of(seed: int, number: int, start: int, count: int) -> Block:
    """A block of a campaign with the whole catalogue."""
    return Block(
        seed=seed,
        start=start,
        count=count,
        targets=tuple(map(Target, of_family(DEFAULT))),
        recipe=Recipe(disabled=schedule.disabled(seed, number)),
    )


Prepare = Callable[[Report], None]


def run_block(block: Block, prepare: Prepare, into: Throughput, costs: Costs | None = None) -> None:
    """Run a block in forks; if one dies, another one continues with the next module.

    Args:
        prepare: changes the process in which the block runs, and may report more.
    """
    checked: Counter[str] = Counter()
    start, end = block.start, block.start + block.count
    while start < end:
        part = dataclasses.replace(
            block, start=start, count=end - start, rest=Rest(checked=dict(checked))
        )
        journal = Journal(0)
        begin = time.perf_counter()
        reported, cpu = in_fork(_run, part, journal, prepare)
        into.wall += time.perf_counter() - begin
        into.cpu += cpu
        for kind, value in reported:
            if kind == "stage":
                checked.update(value)
                into.by_item.update(value)
                into.checks += sum(value.values())
            elif kind == "module":
                into.modules += 1
            elif kind == "executed":
                into.executions.append(value)
            elif kind == "costs" and costs is not None:
                for name, seconds in value["spent"].items():
                    costs.spent[name] += seconds
                costs.calls.update(value["calls"])
            elif kind == "check" and costs is not None:
                name, whole, bare = value
                costs.whole[name].append(whole)
                costs.bare[name].append(bare)
        place = journal.last()
        start = end if journal.finished or place is None else place.index + 1
        journal.close()


def _run(report: Report, part: Block, journal: Journal, prepare: Prepare) -> None:
    journal.adopt(0)
    prepare(report)

    def send(reply: FromChild) -> None:
        match reply:
            case Result(value=StageDone(stats=stats)):
                report(("stage", {name: each.checks for name, each in stats.items()}))
            case Result(value=ModuleDone()):
                report(("module", None))

    blocks.run_block(part, Context(0, journal, send))
    journal.finish()


def _no_samples(report: Report) -> None:
    # The sample is the last draw of a check, so without it all other draws stay the same.
    replace(schedule, "oracles_of_module", lambda original: lambda random, device: ())


def _watch_oracles(report: Report) -> None:
    """Put a clock on each oracle. The evaluation of a module counts for the first to ask."""
    clock = Clock()
    violations, module = Oracle.violations, blocks._Run._module

    def watched_oracle(self: Oracle, runs: PassRuns) -> tuple[Violation, ...]:
        return clock.watch(self.name, violations)(self, runs)

    replace(Oracle, "violations", lambda original: watched_oracle)
    of_builds = functools.partial(clock.watch, pipeline_values.ORACLE.name)
    replace(pipeline_values, "check", of_builds)
    replace(blocks._Run, "_module", lambda original: _reporting(clock, module, report))


def _reporting(clock: Clock, module: Callable[..., None], report: Report) -> Callable[..., None]:
    """A module's checks; the clock's times are reported after them."""

    def watched(self: Any, *args: Any) -> None:
        clock.watch("rest of the harness", module)(self, *args)
        report(("costs", {"spent": dict(clock.spent), "calls": dict(clock.calls)}))
        clock.spent.clear()
        clock.calls.clear()

    return watched


def _watch(report: Report) -> None:
    """Put clocks around the parts of a check. They stay, since the process ends with its block."""
    _no_samples(report)
    clock = Clock()
    bare: list[float] = []
    attempt, check, module = PassRuns.attempt, blocks._Run._check, blocks._Run._module

    def watched_attempt(self: Any, step: str, *rest: Any) -> Any:
        begin = time.process_time()
        outcome = clock.watch(f"run: {step}", attempt)(self, step, *rest)
        if step == "direct":
            bare.append(time.process_time() - begin)
        return outcome

    def watched_check(self: Any, item: Any, *rest: Any) -> Any:
        bare.clear()
        begin = time.process_time()
        found = clock.watch("rest of a check", check)(self, item, *rest)
        if item.kind is schedule.ItemKind.PASS and bare:
            report(("check", (item.name, time.process_time() - begin, bare[0])))
        return found

    replace(PassRuns, "attempt", lambda original: watched_attempt)
    replace(blocks._Run, "_check", lambda original: watched_check)
    replace(blocks._Run, "_module", lambda original: _reporting(clock, module, report))
    replace(blocks._Run, "_advance", functools.partial(clock.watch, "advance"))
    replace(blocks._Run, "_prepare", functools.partial(clock.watch, "choose"))
    replace(blocks._Run, "_report", functools.partial(clock.watch, "report"))
    replace(blocks, "example", functools.partial(clock.watch, "generate"))
    replace(
        checks,
        "STRUCTURAL",
        lambda oracles: tuple(
            dataclasses.replace(each, check=clock.watch(f"oracle: {each.name}", each.check))
            for each in oracles
        ),
    )


def replace(owner: object, name: str, change: Callable[[Any], object]) -> None:
    """Replace an attribute in the running process."""
    setattr(owner, name, change(getattr(owner, name)))
