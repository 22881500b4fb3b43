"""`make bench`: what checks cost, and what the same costs written by hand.

All times are CPU time of one process, so that other work on the machine disturbs them little (it
still shares caches and cores: compare figures of one run). Whatever is measured runs in forks of
this process, because passes kill processes.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import resource
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, ParamSpec, TypeVar

import numpy as np
import psutil
import tvm
import tvm_ffi
from rich.console import Console
from rich.table import Table
from tvm import relax

from ..generators.choices import Choices
from ..generators.modules import ir_modules
from ..generators.stages import Stage
from ..oracles import check as checks
from ..oracles.catalogue import catalogue
from ..oracles.execute import Plan, execute, from_numpy, to_numpy
from ..oracles.inputs import arguments
from ..oracles.inspect import public_functions
from ..oracles.subject import Subject as Case
from . import campaign, schedule, worker
from .draw import entropy, example
from .events import Finished
from .executor import ONE_THREAD, LocalPool
from .journal import Journal
from .protocol import Block, StageDone, Subject

P = ParamSpec("P")
T = TypeVar("T")

MODULES = 6 * schedule.MODULES_IN_BLOCK
NAIVE_PASSES = 3
"""Passes of each module that the naive way looks at."""
TOLERANCE = 1e-3
MEGABYTE = 1 << 20
EVERY = 15.0
"""Seconds between two points of the memory curve."""


class Clock:
    """CPU seconds by name, each without what was spent in watched functions below it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._below: list[float] = []

    def watch(self, name: str, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with its time on this clock."""

        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            begin = time.process_time()
            self._below.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.process_time() - begin
                self.spent[name] += whole - self._below.pop()
                self.calls[name] += 1
                if self._below:
                    self._below[-1] += whole

        return watched


# Checks as a campaign does them


@dataclass(slots=True)
class Throughput:
    """What the same blocks came to."""

    checks: int = 0
    modules: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    by_item: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Checks per CPU second."""
        return self.checks / self.cpu if self.cpu else 0.0


@dataclass(slots=True)
class Costs:
    """Where the time went, in CPU seconds."""

    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)
    whole: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Of each check, by pass, oracles included."""
    bare: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Of the direct run in each check, by pass."""


def measure(seed: int, modules: int) -> tuple[Throughput, Throughput, Costs]:
    """Tier 1 alone, the sampled tiers too, and what tier 1 alone is made of."""
    worker.warm_up()
    alone, sampled, costs = Throughput(), Throughput(), Costs()
    for number, (start, count) in enumerate(schedule.blocks(modules)):
        block = Block(
            seed=seed,
            start=start,
            count=count,
            subjects=tuple(Subject(name) for name in catalogue),
            disabled=schedule.disabled(seed, number),
        )
        _block(block, _no_samples, alone)
        _block(block, lambda tell: None, sampled)
        _block(block, _watch, Throughput(), costs)
    return alone, sampled, costs


Tell = Callable[[Any], None]
Prepare = Callable[[Tell], None]


def _block(block: Block, prepare: Prepare, into: Throughput, costs: Costs | None = None) -> None:
    """Run a block in forks; where one dies, another goes on with the next module."""
    checked: Counter[str] = Counter()
    start, end = block.start, block.start + block.count
    while start < end:
        part = dataclasses.replace(block, start=start, count=end - start, checked=dict(checked))
        journal = Journal()
        begin = time.perf_counter()
        said, cpu = in_fork(_run, part, journal, prepare)
        into.wall += time.perf_counter() - begin
        into.cpu += cpu
        for kind, value in said:
            if kind == "stage":
                checked.update(value)
                into.by_item.update(value)
                into.checks += sum(value.values())
            elif kind == "module":
                into.modules += 1
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


def _run(tell: Tell, part: Block, journal: Journal, prepare: Prepare) -> None:
    journal.adopt()
    prepare(tell)

    def say(reply: object) -> None:
        if isinstance(reply, StageDone):
            tell(("stage", {name: stats.checks for name, stats in reply.stats.items()}))
        elif type(reply).__name__ == "ModuleDone":
            tell(("module", None))

    worker.run(0, part, journal, say)
    journal.finish()


def _no_samples(tell: Tell) -> None:
    # The sample is the last thing that a check draws: without it all else stays as it is.
    _replace(schedule, "oracles", lambda original: lambda random: ())


def _watch(tell: Tell) -> None:
    """Put clocks around the parts of a check. The process ends with its block: none is undone."""
    _no_samples(tell)
    clock = Clock()
    bare: list[float] = []
    attempt, check, module = Case.attempt, worker._Block._check, worker._Block._module

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
        if item.kind is schedule.Kind.PASS and bare:
            tell(("check", (item.name, time.process_time() - begin, bare[0])))
        return found

    def watched_module(self: Any, *args: Any) -> None:
        clock.watch("rest of the harness", module)(self, *args)
        tell(("costs", {"spent": dict(clock.spent), "calls": dict(clock.calls)}))
        clock.spent.clear()
        clock.calls.clear()

    _replace(Case, "attempt", lambda original: watched_attempt)
    _replace(worker._Block, "_check", lambda original: watched_check)
    _replace(worker._Block, "_module", lambda original: watched_module)
    _replace(worker._Block, "_advance", functools.partial(clock.watch, "advance"))
    _replace(worker._Block, "_prepare", functools.partial(clock.watch, "choose"))
    _replace(worker._Block, "_report", functools.partial(clock.watch, "report"))
    _replace(worker, "example", functools.partial(clock.watch, "generate"))
    _replace(
        checks,
        "STRUCTURAL",
        lambda oracles: tuple(
            dataclasses.replace(each, check=clock.watch(f"oracle: {each.name}", each.check))
            for each in oracles
        ),
    )


def _replace(owner: object, name: str, change: Callable[[Any], object]) -> None:
    """Change what the running process knows under a name."""
    setattr(owner, name, change(getattr(owner, name)))


def in_fork(work: Callable[..., None], *args: Any) -> tuple[list[Any], float]:
    """What the work told before its process ended, and the CPU seconds that it took."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(120)
            with os.fdopen(write, "w") as pipe:

                def tell(what: Any) -> None:
                    pipe.write(json.dumps(what) + "\n")
                    pipe.flush()

                work(tell, *args)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        lines = pipe.read().split("\n")[:-1]  # the last is empty, or torn by death
    _, _, usage = os.wait4(pid, 0)
    return [json.loads(line) for line in lines], usage.ru_utime + usage.ru_stime


# The naive way


def naive(seed: int, seconds: float) -> tuple[int, float]:
    """Checks and CPU seconds of what a developer would write today, over raw modules.

    For each module and pass: apply it, apply it in Sequential, compare, build both modules, run
    them in the VM on the same arguments, compare the results. What raises ends that check.
    """

    def work(tell: Tell, start: int) -> None:
        strategy = ir_modules()
        begin = time.process_time()
        for index in itertools.count(start):
            tell(("module", index))
            mod = example(strategy, seed, index)
            for pass_ in _some_passes(mod, Random(entropy("naive", seed, index))):
                with contextlib.suppress(Exception):
                    _naive(mod, pass_)
                tell(("check", index))
                if time.process_time() - begin > seconds:
                    return

    return _until(work, seconds)


def _some_passes(mod: tvm.IRModule, random: Random) -> Iterator[tvm.transform.Pass]:
    names = [name for name, contract in catalogue.items() if Stage.RAW in contract.stages]
    made = 0
    for name in random.sample(names, len(names)):
        contract = catalogue[name]
        if made == NAIVE_PASSES:
            return
        if contract.requires(mod) is None:
            call = contract.variants(Choices(random.randbytes(worker.CHOICES)), mod)
            if call is not None:
                made += 1
                yield call.build()


def _naive(mod: tvm.IRModule, pass_: tvm.transform.Pass) -> None:
    with tvm.target.Target("llvm"):
        direct = pass_(mod)
        sequential = tvm.transform.Sequential([pass_])(mod)
    assert tvm_ffi.structural_equal(direct, sequential, map_free_vars=True)
    before, after = _machine(mod), _machine(direct)
    for gvar, func in public_functions(mod):
        args = arguments(func, 0)
        old, new = (
            to_numpy(machine[gvar.name_hint](*map(from_numpy, args))) for machine in (before, after)
        )
        for a, b in zip(_leaves(old), _leaves(new), strict=True):
            np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)


def _machine(mod: tvm.IRModule) -> Any:
    return relax.VirtualMachine(relax.build(mod, tvm.target.Target("llvm")), tvm.cpu())


def _leaves(value: Any) -> list[Any]:
    return (
        [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]
    )


# Tier 4


def executed(seed: int, seconds: float) -> tuple[int, float]:
    """Modules that were built, loaded and run as tier 4 does it, and CPU seconds."""

    def work(tell: Tell, start: int) -> None:
        strategy = ir_modules()
        begin = _cpu_of_all()
        for index in itertools.count(start):
            tell(("module", index))
            mod = example(strategy, seed, index)
            with contextlib.suppress(Exception):
                plans = [_call(str(gvar.name_hint), func) for gvar, func in public_functions(mod)]
                if isinstance(execute(mod, plans), list):
                    tell(("check", index))
            if _cpu_of_all() - begin > seconds:
                return

    return _until(work, seconds)


def _call(name: str, func: relax.Function) -> Plan:
    args = arguments(func, 0)
    return lambda run: run(name, args)


def _cpu_of_all() -> float:
    """Of this process and those that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _until(work: Callable[[Tell, int], None], seconds: float) -> tuple[int, float]:
    """Work until the time is used up, behind the module that killed the process if need be."""
    count, spent, start = 0, 0.0, 0
    while spent < seconds:
        said, cpu = in_fork(work, start)
        count += sum(kind == "check" for kind, _ in said)
        spent += cpu
        start = 1 + max((index for _, index in said), default=start)
    return count, spent


# Memory


@dataclass(frozen=True, slots=True)
class Memory:
    """A point of the curve, in megabytes."""

    seconds: float
    zygote: float
    largest: float
    """The largest worker since the last point."""


def memory(seed: int, minutes: float, workers: int) -> Iterator[Memory]:
    """Run a campaign and look at its processes."""
    subjects = tuple(Subject(name) for name in catalogue)
    config = campaign.CampaignConfig(seed=seed, subjects=subjects, seconds=60 * minutes)
    with LocalPool(workers) as pool:
        zygote = psutil.Process(pool.zygote)
        begin = last = time.monotonic()
        largest = 0.0
        for event in campaign.run(config, pool):
            now = time.monotonic()
            for child in zygote.children():
                with contextlib.suppress(psutil.Error):
                    largest = max(largest, child.memory_info().rss / MEGABYTE)
            if now - last >= EVERY or isinstance(event, Finished):
                yield Memory(now - begin, zygote.memory_info().rss / MEGABYTE, largest)
                last, largest = now, 0.0


def slope(points: list[Memory]) -> float:
    """Megabytes by which the largest worker grows in a minute, by least squares."""
    if len(points) < 2:
        return 0.0
    fit = statistics.linear_regression(
        [p.seconds / 60 for p in points], [p.largest for p in points]
    )
    return float(fit.slope)


# Telling


def report(seed: int, modules: int) -> dict[str, Any]:
    """All figures of one run, as JSON would hold them; times in milliseconds."""
    alone, sampled, costs = measure(seed, modules)
    seconds = max(1.0, alone.cpu)
    naive_checks, naive_cpu = naive(seed, seconds)
    runs, runs_cpu = executed(seed, seconds)
    naive_rate = naive_checks / naive_cpu
    medians = {name: statistics.median(each) for name, each in costs.whole.items()}
    bare = sum(map(sum, costs.bare.values()))
    whole = sum(map(sum, costs.whole.values()))
    total = costs.calls["rest of a check"]
    return {
        "seed": seed,
        "modules": alone.modules,
        "checks": alone.checks,
        "checks_per_cpu_second": alone.rate,
        "checks_per_cpu_second_with_sampled_tiers": sampled.rate,
        "cores_had": alone.cpu / alone.wall,
        "naive_checks": naive_checks,
        "naive_checks_per_cpu_second": naive_rate,
        "times_the_naive_way": alone.rate / naive_rate if naive_rate else None,
        "executed_modules_per_cpu_second": runs / runs_cpu,
        "oracles_by_bare_pass": (whole - bare) / bare if bare else None,
        "median_pass_ms": 1e3 * statistics.median(medians.values()),
        "passes_below_1_percent": sorted(
            name for name in catalogue if alone.by_item[name] < alone.checks / 100
        ),
        "parts": {
            name: {
                "calls": costs.calls[name],
                "ms": 1e3 * spent / costs.calls[name],
                "ms_per_check": 1e3 * spent / total,
            }
            for name, spent in sorted(costs.spent.items(), key=lambda pair: -pair[1])
        },
        "passes": {
            name: {
                "checks": len(costs.whole[name]),
                "bare_ms": 1e3 * statistics.median(costs.bare[name]),
                "ms": 1e3 * median,
            }
            for name, median in sorted(medians.items(), key=lambda pair: -pair[1])
        },
    }


def show(figures: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    had = figures["cores_had"]
    head = _table("seed {seed}: {checks} checks of {modules} modules".format(**figures), "", "aim")
    for name, value, aim in (
        ("checks per CPU second, tier 1", f"{figures['checks_per_cpu_second']:.0f}", "500, idle"),
        (
            "the same, with the sampled tiers",
            f"{figures['checks_per_cpu_second_with_sampled_tiers']:.0f}",
            "",
        ),
        ("share of a core that was had", f"{had:.0%}", "~100 %, idle"),
        (
            "naive checks per CPU second",
            f"{figures['naive_checks_per_cpu_second']:.1f} of {figures['naive_checks']}",
            "",
        ),
        ("times the naive way", f"{figures['times_the_naive_way'] or 0:.0f}", "20"),
        ("oracles / bare pass", f"{figures['oracles_by_bare_pass'] or 0:.1f}", "3"),
        ("median pass, with oracles", f"{figures['median_pass_ms']:.2f} ms", "1.2 ms, idle"),
        ("passes below 1 % of the checks", str(len(figures["passes_below_1_percent"])), "0"),
        (
            "executed modules per CPU second",
            f"{figures['executed_modules_per_cpu_second']:.1f}",
            "15, idle",
        ),
    ):
        head.add_row(name, value, aim)
    parts = _table("where the time goes", "calls", "ms each", "ms per check")
    for name, part in figures["parts"].items():
        parts.add_row(name, str(part["calls"]), f"{part['ms']:.3f}", f"{part['ms_per_check']:.3f}")
    passes = _table("median of each pass", "checks", "bare ms", "with oracles ms")
    for name, each in figures["passes"].items():
        passes.add_row(name, str(each["checks"]), f"{each['bare_ms']:.2f}", f"{each['ms']:.2f}")
    for table in (head, parts, passes):
        console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def main() -> None:
    """Print the figures, or with --memory the curve."""
    os.environ.update(ONE_THREAD)
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", type=int, default=MODULES)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--memory", type=float, metavar="MINUTES", help="only the memory curve")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="for --memory")
    options = parser.parse_args()
    if options.memory is None:
        figures = report(options.seed, options.modules)
        if options.json:
            print(json.dumps(figures))
        else:
            show(figures, Console())
        return
    points = []
    for point in memory(options.seed, options.memory, options.workers):
        points.append(point)
        if not options.json:
            bar = "#" * round(point.largest / 10)
            line = f"{point.seconds:6.0f} s  zygote {point.zygote:4.0f} MB  largest worker"
            print(f"{line} {point.largest:4.0f} MB  {bar}", flush=True)
    summary = {"largest_mb": max(p.largest for p in points), "mb_per_minute": slope(points)}
    if options.json:
        print(json.dumps({"points": [dataclasses.asdict(p) for p in points], **summary}))
    else:
        print("largest {largest_mb:.0f} MB, {mb_per_minute:+.2f} MB a minute".format(**summary))


if __name__ == "__main__":
    main()
