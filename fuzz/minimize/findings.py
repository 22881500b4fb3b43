"""A finding with the smallest module that still shows it, seen again in fresh processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...oracles.violation import Violation
from ..findings.confirm import again
from ..findings.finding import Finding
from ..process.executor import Executor
from ..process.protocol import Death
from ..reproducer import source_of
from .parallel import State, shrink
from .reduction import FIRST

NOT_REDUCED = (Death.KILLED, Death.PARENT)
"""Each candidate would cost two zygotes, or all that runs beside it."""

ASKED = 2
"""A result is asked for so often; what does not come out each time is flaky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimized:
    """What became of a finding."""

    finding: Finding
    """With the smallest module that was seen to show it."""
    state: State
    """Where the search stands."""
    flaky: bool
    """The violation does not come out of every run."""
    met: tuple[Finding, ...]
    """Other violations that candidates showed; nobody has seen them again."""
    faults: tuple[str, ...]
    """What the harness itself did wrong."""


def minimized(
    executor: Executor,
    finding: Finding,
    state: State | None = None,
    *,
    workers: int = 1,
    over: Callable[[], bool],
    progress: Callable[[State], None] = lambda state: None,
) -> Minimized:
    """Make the module of a finding smaller, and see that the result still shows it.

    Args:
        state: where to go on; None: from the beginning.
        workers, over, progress: see `shrink`.

    Raises:
        ExecutorError: the harness failed.
    """
    if finding.oracle in NOT_REDUCED:
        state = State(module=finding.module, ended=True)
        reduced = dataclasses.replace(finding, reduced=True)
        return Minimized(finding=reduced, state=state, flaky=False, met=(), faults=())
    begin = State(module=finding.module) if state is None else state
    outcome = shrink(executor, finding, begin, workers=workers, over=over, progress=progress)
    flaky = False
    smallest = finding
    if outcome.state.module != finding.module:
        for module in backwards([finding.module, *outcome.trail]):
            # A hang takes its time, and does not come out of some runs only for being in a hurry.
            times = 1 if finding.oracle == Death.HANG else ASKED
            seen = [again(executor, finding, module) for _ in range(times)]
            shown = next((violation for violation in seen if violation is not None), None)
            flaky |= None in seen
            if shown is not None:
                smallest = _with(finding, module, shown)
                break
    reached = outcome.state
    if smallest.module != reached.module:
        reached = dataclasses.replace(reached, module=smallest.module, spot=FIRST, ended=False)
    return Minimized(
        finding=dataclasses.replace(smallest, reduced=reached.ended and not flaky),
        state=reached,
        flaky=flaky,
        met=tuple(outcome.met),
        faults=tuple(outcome.faults),
    )


def backwards(trail: list[str]) -> Iterator[str]:
    """The last module, and ever earlier ones: 1, 2, 4, ... from the end, without the first."""
    step = 1
    while step < len(trail):
        yield trail[-step]
        step *= 2


def _with(finding: Finding, module: str, violation: Violation) -> Finding:
    return dataclasses.replace(
        finding,
        module=module,
        source=source_of(module),
        violation=violation,
    )
