"""`make bench-cluster`: the cost of a Dask cluster beside the local pool, and its limit of workers.

Efficiency: the same campaign on the local pool with N workers and on N Dask workers of one thread,
whose scheduler and workers are separate processes on this machine; in turn, several times, so that
other work on the machine disturbs both. Start-up is shown, not counted. Both must find the same.

A task is a block, or the rest of one after a process died on it. Saturation, on paper: with c the
CPU seconds that scheduler or driver spend for a task beyond their idle cost, d the seconds that a
task takes a worker, i the share of a core that they use while nothing runs, and a the share that
the scheduler uses without any worker, one core of theirs is full at

    scheduler: (1 - a) / ((i - a) / N + c / d) workers
    driver:    (1 - i) / (c / d) workers

This is a low estimate for the scheduler: with many workers, Dask requests fewer heartbeats of each.

The driver is the only writer: its CPU time comprises sending, decoding, committing and storing.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.loading.targets import targets
from relaxfuzz.fuzz.output.terminal import columns
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.fuzz.process.launch import ONE_THREAD
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.settings import Relaxations
from relaxfuzz.oracles.violation import Mark

from .dask_processes import Processes
from .watched import Measured, measured

IDLE = 5.0
"""Seconds in which nothing runs, to measure the idle cost."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Shares of a core that are used while nothing runs."""

    scheduler: float
    driver: float
    alone: float
    """The scheduler's share, without workers."""


@dataclass(frozen=True, slots=True)
class Round:
    """The same campaign on both."""

    local: Measured
    dask: Measured
    start_local: float
    """Seconds until the workers were warm."""
    start_dask: float


@dataclass(frozen=True, slots=True)
class Saturation:
    """Workers of one thread at which a core is full; see the formulas above."""

    scheduler: float
    driver: float


def saturation(rounds: Sequence[Round], idle: Idle, workers: int) -> Saturation:
    """The saturation from these measurements; infinite if a task has no visible cost."""
    tasks = sum(each.dask.tasks for each in rounds)
    seconds = sum(each.dask.seconds for each in rounds)
    task = statistics.fmean(task_seconds(each) for each in rounds)
    scheduler = sum(each.dask.scheduler for each in rounds)
    driver = sum(each.dask.driver for each in rounds)
    for_task = max(0.0, scheduler - idle.scheduler * seconds) / tasks
    written = max(0.0, driver - idle.driver * seconds) / tasks
    return Saturation(
        _share(1.0 - idle.alone, max(0.0, idle.scheduler - idle.alone) / workers + for_task / task),
        _share(max(0.0, 1.0 - idle.driver), written / task),
    )


def task_seconds(each: Round) -> float:
    """The seconds of a worker per task, on the local pool, which reports when a task begins."""
    assert each.local.task_seconds is not None
    return each.local.task_seconds


def _share(whole: float, part: float) -> float:
    return whole / part if part else float("inf")


def rounds_of(
    config: CampaignConfig, workers: int, number: int, processes: Processes
) -> list[Round]:
    """Local, Dask, local, Dask, ..."""
    made = []
    for _ in range(number):
        began = time.monotonic()
        with contextlib.closing(LocalPool(workers)) as pool:
            local, start_local = _timed(config, pool, began, lambda: 0.0)
        began = time.monotonic()
        with _executor(processes, workers) as executor:
            far, start_dask = _timed(config, executor, began, processes.cpu)
            made.append(Round(local, far, start_local, start_dask))
    return made


def _timed(
    config: CampaignConfig,
    executor: Executor,
    began: float,
    scheduler: Callable[[], float],
) -> tuple[Measured, float]:
    made = measured(config, executor, scheduler)
    return made, made.began - began


@contextlib.contextmanager
def _executor(processes: Processes, workers: int) -> Iterator[ClusterExecutor]:
    with (
        connect(str(processes.file)) as connection,
        ClusterExecutor(connection) as executor,
    ):
        while executor.workers < workers:
            time.sleep(0.1)
        yield executor


def idle_of(processes: Processes, workers: int) -> Idle:
    """Start the workers; measure the idle scheduler and driver then, and the scheduler before."""
    alone, _ = _spent(processes)
    for _ in range(workers):
        processes.add()
    with _executor(processes, workers):
        return Idle(*_spent(processes), alone)


def _spent(processes: Processes) -> tuple[float, float]:
    """Shares of a core of the scheduler and of this process."""
    time.sleep(1.0)  # until startup is over
    scheduler, driver, began = processes.cpu(), time.process_time(), time.monotonic()
    time.sleep(IDLE)
    seconds = time.monotonic() - began
    return (processes.cpu() - scheduler) / seconds, (time.process_time() - driver) / seconds


def figures(rounds: Sequence[Round], idle: Idle, workers: int) -> dict[str, Any]:
    """The figures for one size of blocks, as in JSON."""
    ratios = {
        unit: [
            (getattr(each.dask, unit) / each.dask.seconds)
            / (getattr(each.local, unit) / each.local.seconds)
            for each in rounds
        ]
        for unit in ("modules", "checks")
    }
    tasks = sum(each.dask.tasks for each in rounds)
    sizes = rounds[0].dask.sizes
    full = saturation(rounds, idle, workers)
    found: list[set[Mark]] = [set(each.found) for one in rounds for each in (one.local, one.dask)]
    differ = {each for one in found for other in found for each in one - other}
    return {
        "local_modules_per_second": [each.local.modules / each.local.seconds for each in rounds],
        "dask_modules_per_second": [each.dask.modules / each.dask.seconds for each in rounds],
        "local_checks_per_second": [each.local.checks / each.local.seconds for each in rounds],
        "dask_checks_per_second": [each.dask.checks / each.dask.seconds for each in rounds],
        "efficiency_modules": statistics.median(ratios["modules"]),
        "efficiency_checks": statistics.median(ratios["checks"]),
        "efficiency_checks_by_round": ratios["checks"],
        "same_findings": not differ,
        "findings": len(found[0]),
        "findings_that_differ": sorted(map(repr, differ)),
        "same_counts": len({frozenset(m.found.items()) for r in rounds for m in (r.local, r.dask)})
        == 1,
        "faults": sum(len(each.faults) for one in rounds for each in (one.local, one.dask)),
        "start_seconds_local": statistics.median(each.start_local for each in rounds),
        "start_seconds_dask": statistics.median(each.start_dask for each in rounds),
        "tasks": tasks,
        "task_seconds": statistics.fmean(map(task_seconds, rounds)),
        **{f"bytes_{name}": value for name, value in dataclasses.asdict(sizes).items()},
        "scheduler_cpu_ms_a_task": 1000 * sum(each.dask.scheduler for each in rounds) / tasks,
        "driver_cpu_ms_a_task": 1000 * sum(each.dask.driver for each in rounds) / tasks,
        "scheduler_is_full_at_workers": full.scheduler,
        "driver_is_full_at_workers": full.driver,
    }


def show(all_figures: dict[str, Any], console: Console) -> None:
    """A column for each size of blocks."""
    by_size = all_figures["blocks_of"]
    table = columns("modules in a block", *by_size, numbers=by_size)

    def row(name: str, text: str, *keys: str) -> None:
        cells = []
        for each in by_size.values():
            values = [each[key] for key in keys]
            flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
            cells.append(text.format(*flat) if len(flat) == text.count("{") else _each(text, flat))
        table.add_row(name, *cells)

    row("checks/s, local", "{:.1f}", "local_checks_per_second")
    row("checks/s, Dask", "{:.1f}", "dask_checks_per_second")
    row("  Dask / local, each round", "{:.2f}", "efficiency_checks_by_round")
    row("  Dask / local, median", "{:.0%}", "efficiency_checks")
    row("modules/s, local", "{:.2f}", "local_modules_per_second")
    row("modules/s, Dask", "{:.2f}", "dask_modules_per_second")
    row("  Dask / local, median", "{:.0%}", "efficiency_modules")
    row("same findings (how many)", "{} ({})", "same_findings", "findings")
    row("same counts of each", "{}", "same_counts")
    row("faults of relaxfuzz", "{}", "faults")
    row(
        "start and warm-up, local / Dask",
        "{:.1f} s / {:.1f} s",
        "start_seconds_local",
        "start_seconds_dask",
    )
    row("a task takes a worker", "{:.1f} s", "task_seconds")
    row("bytes to it, compressed", "{:,.0f}, {:,.0f}", "bytes_there", "bytes_there_compressed")
    row("bytes back, compressed", "{:,.0f}, {:,.0f}", "bytes_back", "bytes_back_compressed")
    row("CPU ms a task, scheduler", "{:.1f}", "scheduler_cpu_ms_a_task")
    row("CPU ms a task, driver", "{:.1f}", "driver_cpu_ms_a_task")
    row("scheduler full at workers", "{:,.0f}", "scheduler_is_full_at_workers")
    row("driver full at workers", "{:,.0f}", "driver_is_full_at_workers")
    console.print(table)
    idle = all_figures["idle"]
    console.print(
        f"\nUsed while nothing runs: scheduler {idle['scheduler']:.1%} of a core "
        f"({idle['alone']:.1%} without workers), driver {idle['driver']:.1%}. "
        "Figures of one run on one machine: compare them with one another."
    )


def _each(text: str, values: Sequence[Any]) -> str:
    return " ".join(text.format(value) for value in values)


def main() -> None:
    """Print the figures."""
    os.environ.update(ONE_THREAD)
    parser = argparse.ArgumentParser(prog="make bench-cluster", description=__doc__)
    parser.add_argument("passes", nargs="*", help="default: all of the catalogue")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", type=int, default=40 * schedule.MODULES_IN_BLOCK)
    parser.add_argument("--block", type=int, nargs="+", default=[schedule.MODULES_IN_BLOCK])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2, help="of both, in turn")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as folder,
        Processes(Path(folder)) as processes,
    ):
        idle = idle_of(processes, options.workers)
        made: dict[str, Any] = {
            "seed": options.seed,
            "modules": options.modules,
            "workers": options.workers,
            "idle": dataclasses.asdict(idle),
            "blocks_of": {},
        }
        for size in options.block:
            config = CampaignConfig(
                seed=options.seed,
                targets=targets(options.passes, Relaxations()),
                modules=options.modules,
                modules_in_block=size,
                compositions=not options.passes,
            )
            rounds = rounds_of(config, options.workers, options.rounds, processes)
            made["blocks_of"][str(size)] = figures(rounds, idle, options.workers)
    if options.json:
        print(json.dumps(made))
    else:
        show(made, Console())


if __name__ == "__main__":
    main()
