"""Reduces a finding to the fewest passes and the smallest module that still show it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ...oracles.passcall import PassCall
from ...oracles.pipelines import is_own, steps
from ..findings.confirm import again
from ..findings.finding import Finding
from ..jobs.jobs import Walk
from ..process.executor import Executor, ask
from ..process.protocol import Death, Died
from ..reproducer import source_of
from .parallel import ParallelSearch, SearchState
from .reduction import FIRST

NOT_REDUCED = (Death.KILLED, Death.PARENT, Death.PROCESSES)
"""Deaths that are not reduced: each candidate would cost two zygotes, or all concurrent jobs, or
hundreds of processes."""

ASKED = 2
"""Number of runs of a result; a violation that does not occur in all of them is flaky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimized:
    """A minimized finding, and how the search ended."""

    finding: Finding
    """The finding with the smallest module that was seen to show it."""
    state: SearchState
    """State of the search."""
    flaky: bool
    """True if the violation does not occur in every run."""
    faults: tuple[str, ...]
    """Faults of the harness itself."""
    lacking: tuple[str, ...] = ()
    """Features that the installed TVM lacks, so that edits were skipped."""


def minimized(
    executor: Executor,
    finding: Finding,
    state: SearchState | None = None,
    *,
    workers: int = 1,
    redacts: bool = False,
    over: Callable[[], bool],
    progress: Callable[[SearchState], None] = lambda state: None,
) -> Minimized:
    """Make the module of a finding smaller, and confirm that the result still shows it.

    Args:
        state: the state to continue from; None: start from the beginning.
        workers, redacts, over, progress: see `ParallelSearch`.

    Raises:
        ExecutorError: the harness failed.
    """
    if finding.oracle in NOT_REDUCED:
        state = SearchState(module=finding.module, ended=True)
        reduced = dataclasses.replace(finding, reduced=True)
        return Minimized(finding=reduced, state=state, flaky=False, faults=())
    begin = SearchState(module=finding.module) if state is None else state
    search = ParallelSearch(
        executor, finding, begin, workers=workers, redacts=redacts, progress=progress
    )
    search.run(over)
    flaky = False
    smallest = finding
    if search.state.module != finding.module:
        for module in backwards([finding.module, *search.trail]):
            # A hang takes long, and only a short limit would keep it from occurring in some runs.
            times = 1 if finding.oracle == Death.HANG else ASKED
            seen = [again(executor, finding, module) for _ in range(times)]
            shown = next((violation for violation in seen if violation is not None), None)
            flaky |= None in seen
            if shown is not None:
                smallest = dataclasses.replace(
                    finding,
                    module=module,
                    source=source_of(module),
                    violation=shown,
                    first_id=finding.id,
                )
                break
    reached = search.state
    if smallest.module != reached.module:
        reached = dataclasses.replace(reached, module=smallest.module, edit_id=FIRST, ended=False)
    return Minimized(
        finding=dataclasses.replace(smallest, reduced=reached.ended and not flaky),
        state=reached,
        flaky=flaky,
        faults=tuple(search.faults),
        lacking=tuple(search.lacking),
    )


def backwards(trail: list[str]) -> Iterator[str]:
    """Modules of the trail, starting with the last, in doubling steps; the first is left out."""
    step = 1
    while step < len(trail):
        yield trail[-step]
        step *= 2


T = TypeVar("T")


def ddmin(items: tuple[T, ...], holds: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of the items that satisfies `holds`, but no longer does if any single item is removed.

    The algorithm is that of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
    Input" (2002): ever smaller chunks, each alone or left out. `items` itself is assumed to satisfy
    `holds`.
    """
    chunks = 2
    while len(items) > 1:
        cuts = list(itertools.pairwise([len(items) * i // chunks for i in range(chunks + 1)]))
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
    """Reduce the finding to the fewest passes that still show it, on their input module.

    First, unneeded options of the PassContext and passes are dropped. Then the passes at the
    beginning are replaced by their output. If one pass shows the finding by itself, it is blamed
    with its input; otherwise the shortest end of the list that shows it is kept.

    Args:
        progress: called with each shorter list.

    Raises:
        ExecutorError: the harness failed.
    """

    def shown(shorter: Finding) -> bool:
        if again(executor, shorter, shorter.module) is None:
            return False
        progress(shorter)
        return True

    def fewest(finding: Finding) -> Finding:
        def still(calls: tuple[PassCall, ...]) -> bool:
            return shown(dataclasses.replace(finding, calls=calls))

        return dataclasses.replace(finding, calls=ddmin(finding.calls, still))

    if any(call.config for call in finding.calls):
        bare = tuple(dataclasses.replace(call, config={}) for call in finding.calls)
        plain = dataclasses.replace(finding, calls=bare)
        finding = plain if shown(plain) else finding
    if finding.pipeline is not None and not is_own(finding.pipeline):
        listed = dataclasses.replace(finding, calls=steps(finding.pipeline), pipeline=None)
        finding = listed if shown(listed) else finding
    if len(finding.calls) > 1:
        finding = fewest(finding)
    shorter = next(filter(shown, _later(executor, finding)), None)
    return finding if shorter is None else fewest(shorter)


def _later(executor: Executor, finding: Finding) -> Iterator[Finding]:
    """The finding with one pass, then with ever longer ends of the list, on their input modules."""
    calls = finding.calls
    if finding.pipeline is not None and not is_own(finding.pipeline):
        calls = steps(finding.pipeline)
    if len(calls) < 2:
        return
    # As in a Sequential, the options of one call are those of all.
    config = {name: value for call in calls for name, value in call.config.items()}
    alike = tuple(dataclasses.replace(call, config=config) for call in calls)
    walked = ask(executor, Walk(finding.module, calls=alike))
    if isinstance(walked, Died):  # for a reason other than the violation
        return
    end = len(calls)
    parts = [(n, n + 1) for n in reversed(range(end)) if calls[n].name == finding.pass_name]
    if finding.pipeline is None:
        parts += [(n, end) for n in reversed(range(1, end - 1))]
    for begin, stop in parts:
        _, module = walked[begin]
        if module:
            yield dataclasses.replace(
                finding, module=module, calls=calls[begin:stop], pipeline=None
            )
