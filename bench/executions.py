"""Tier 4 as a campaign meets it: results of passes at every stage, nothing compiled before."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.campaign.draw import entropy
from relaxfuzz.fuzz.process import block
from relaxfuzz.oracles.execute import kept
from relaxfuzz.oracles.values import executed as tier_4

from .checks import Throughput, block_of, replace, run_block
from .forks import Report, cpu_of_all
from .values import Rates

ORACLES = (tier_4.ORACLE.name,)

SAMPLED = 0.25
"""Chance of a check to be the one whose result is executed; a module has one at the most, as in a
campaign, where two are rare."""


def executed(seed: int, modules: int) -> Rates:
    """Results of passes that were built, loaded and run by the oracle of tier 4.

    Cold is what a campaign pays: PrimFuncs are there that earlier modules had, and no others.
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
    """Execute a sample. The process ends with its block: nothing is undone."""
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
