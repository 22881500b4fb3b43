"""Tier 4 as in a campaign: results of passes at every stage, with nothing compiled before."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from relaxfuzz.fuzz.campaign import block, schedule
from relaxfuzz.fuzz.jobs.draw import entropy
from relaxfuzz.oracles.execute import kept
from relaxfuzz.oracles.values import executed as tier_4

from .checks import Throughput, block_of, replace, run_block
from .forks import Report, cpu_of_all
from .values import Rates

ORACLES = (tier_4.ORACLE.name,)

SAMPLED = 0.25
"""The chance that the result of a check is executed. A module has at most one of these checks; in a
campaign, two are rare."""


def executed(seed: int, modules: int) -> Rates:
    """The rates at which the oracle of tier 4 builds, loads and runs results of passes.

    Cold is the cost for a campaign: only PrimFuncs of earlier modules are compiled already.
    """
    into = Throughput()
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as place:
        empty = Path(place) / "build"
        replace(kept, "folder", lambda original: lambda: empty)
        for number, (start, count) in enumerate(schedule.blocks(modules)):
            block = block_of(seed, number, start, count)
            run_block(dataclasses.replace(block, oracles=ORACLES), _executing_some, into)
    count = len(into.executions)
    cold, warm = (sum(column) for column in zip(*into.executions, strict=True)) if count else (0, 0)
    return Rates(count, count / cold if cold else 0.0, count / warm if warm else 0.0)


def _executing_some(report: Report) -> None:
    """Execute a sample. The change is permanent, since the process ends with its block."""
    random, done = Random(), False

    def one_of_each(module: Callable[..., None]) -> Callable[..., None]:
        def begin(self: Any, index: int, *rest: Any) -> None:
            nonlocal done
            done = False
            random.seed(entropy("executed", self._job.seed, index))
            module(self, index, *rest)

        return begin

    def sampled(rule_of: Callable[..., Any]) -> Callable[..., Any]:
        return lambda case: None if done or random.random() > SAMPLED else rule_of(case)

    def twice(execute: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any) -> Any:
            nonlocal done
            done = True
            results, seconds = [], []
            for _ in range(2):
                start = cpu_of_all()
                results.append(execute(*args))
                seconds.append(cpu_of_all() - start)
            if all(isinstance(result, list) for result in results):
                report(("executed", seconds))
            return results[0]

        return watched

    replace(block._Run, "_module", one_of_each)
    replace(tier_4, "rule_of", sampled)
    replace(tier_4, "execute", twice)
