"""First the passes, then the module: the fewest passes that still show a violation."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import TypeVar

from ...oracles.passcall import PassCall
from ...oracles.pipelines import steps
from ..findings.confirm import DEATHS, again
from ..findings.finding import Finding
from ..process.executor import Executor, ask
from ..process.jobs import Narrow
from ..process.protocol import Died

T = TypeVar("T")


def ddmin(items: tuple[T, ...], holds: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of the items for which it holds, and for none of its parts with one item less.

    The algorithm is that of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
    Input" (2002): ever smaller chunks, each alone or left out. For `items` it is taken to hold.
    """
    chunks = 2
    while len(items) > 1:
        bounds = [len(items) * i // chunks for i in range(chunks + 1)]
        cuts = list(itertools.pairwise(bounds))
        alone = [items[start:end] for start, end in cuts]
        without = [items[:start] + items[end:] for start, end in cuts] if chunks > 2 else []
        if (part := next(filter(holds, alone), None)) is not None:
            items, chunks = part, 2
        elif (part := next(filter(holds, without), None)) is not None:
            items, chunks = part, chunks - 1
        elif chunks == len(items):
            break
        else:
            chunks = min(len(items), 2 * chunks)
        chunks = min(chunks, len(items))
    return items


def fewer_passes(
    executor: Executor,
    finding: Finding,
    progress: Callable[[Finding], None] = lambda finding: None,
) -> Finding:
    """The finding with as few passes as still show it; one, on what it was given, where possible.

    Args:
        progress: told of each shorter list.

    Raises:
        ExecutorError: the harness failed.
    """

    def shown(calls: tuple[PassCall, ...]) -> bool:
        shorter = dataclasses.replace(finding, calls=calls, pipeline=None)
        if again(executor, shorter, shorter.module) is None:
            return False
        progress(shorter)
        return True

    calls = finding.calls if finding.pipeline is None else steps(finding.pipeline)
    if len(calls) > 1 and (finding.pipeline is None or shown(calls)):
        finding = dataclasses.replace(finding, calls=ddmin(calls, shown), pipeline=None)
    return _alone(executor, finding)


def _alone(executor: Executor, finding: Finding) -> Finding:
    """The one pass that shows it, with the module that the passes before it make of the given."""
    if len(finding.calls) == 1 or finding.oracle in DEATHS:
        return finding
    job = Narrow(finding.violation, finding.module, finding.calls, finding.pipeline)
    answer = ask(executor, job)
    if isinstance(answer, Died):  # of something else than the violation
        return finding
    alone = dataclasses.replace(
        finding, module=answer.module, calls=answer.calls, pipeline=answer.pipeline
    )
    return finding if again(executor, alone, alone.module) is None else alone
