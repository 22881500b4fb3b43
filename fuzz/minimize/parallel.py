"""The search in workers: each child tries a share of the edits; the first success is accepted."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...compat.serialization import load_json, save_json
from ...oracles.structural import crash
from ...oracles.violation import Mark, Violation, mark_of
from ..findings.confirm import DEATHS, again, same
from ..findings.finding import Finding
from ..process import death
from ..process.executor import Executor, ExecutorError
from ..process.jobs import Check
from ..process.protocol import (
    LIMITS,
    Broken,
    Death,
    Died,
    Ended,
    Failed,
    Limits,
    Reply,
    Result,
)
from ..user_input.errors import UserError
from .child import MAKING, OtherViolation, Reduce, Shrunk, Tried
from .reduction import FIRST, EditId
from .reductions import REDUCTIONS
from .search import digest, make

TICK = 0.25

HANG_LIMITS = replace(LIMITS, step_seconds=2.0)
"""For a candidate of a finding that hangs; the end is confirmed with the usual ones."""

MOST_KILLED = 10
"""Children that something outside may end before the search gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a search has come; enough to go on from it."""

    module: str
    """The smallest one, as TVM JSON."""
    edit_id: EditId = FIRST
    """The edit that made it."""
    tried: int = 0
    accepted: int = 0
    """Candidates that the search went on from."""
    ended: bool = False
    """No edit leads on from it."""


@dataclass(slots=True)
class Outcome:
    """The outcome of a search."""

    state: State
    trail: list[str]
    """The modules that were accepted, in order: the last is the smallest."""
    others: list[Finding]
    """Other violations that candidates showed; none is confirmed."""
    faults: list[str]
    """What the harness itself did wrong."""


def shrink(
    executor: Executor,
    finding: Finding,
    state: State,
    *,
    workers: int = 1,
    over: Callable[[], bool],
    progress: Callable[[State], None] = lambda state: None,
) -> Outcome:
    """Make the module of a finding smaller, from a state on.

    No pass runs in this process. What was reached stays reached, whatever happens to children.

    Args:
        workers: jobs at the same time.
        over: asked a few times a second; true ends the search.
        progress: called with each smaller module at once, and with the counts now and then.

    Raises:
        ExecutorError: the executor is closed or broken, or the harness failed.
    """
    running = _ParallelSearch(executor, finding, state, workers, progress)
    running.run(over)
    return Outcome(
        running.state, running.trail, list(running.others.values()), list(running.faults)
    )


@dataclass(slots=True, eq=False)
class _Run:
    """One job: a share of the edits of the smallest module."""

    share: int
    job: int = 0
    advanced: bool = False
    """It works on a module that it found itself."""
    tried: int = 0
    exhausted: bool = False


class _ParallelSearch:
    def __init__(
        self,
        executor: Executor,
        finding: Finding,
        state: State,
        workers: int,
        progress: Callable[[State], None],
    ) -> None:
        self.state = state
        self.trail: list[str] = []
        self.others: dict[Mark, Finding] = {}
        self.faults: dict[str, None] = {}
        self._executor = executor
        self._finding = finding
        self._workers = workers
        self._progress = progress
        self._limits = HANG_LIMITS if finding.oracle == Death.HANG else LIMITS
        self._oracles = _oracles(executor, finding, self._limits)
        self._tried = state.tried  # by jobs that are over
        self._killed = 0
        self._accepted = {digest(state.module)}
        self._runs: list[_Run] = []
        self._replies: queue.SimpleQueue[tuple[_Run, Reply | None]] = queue.SimpleQueue()

    def run(self, over: Callable[[], bool]) -> None:
        try:
            self._runs = [self._submitted(share) for share in range(self._workers)]
            while not over() and not self.state.ended and self._killed < MOST_KILLED:
                with contextlib.suppress(queue.Empty):
                    run, reply = self._replies.get(timeout=TICK)
                    if run in self._runs:  # else it is about a larger module
                        self._receive(run, reply)
                self._count()
        finally:
            for run in self._runs:
                self._executor.cancel(run.job)

    def _submitted(self, share: int, after: EditId | None = None) -> _Run:
        check = Check(
            module=self.state.module,
            calls=self._finding.calls,
            pipeline=self._finding.pipeline,
            oracles=self._oracles,
            exempt=self._finding.exempt,
        )
        job = Reduce(
            check=check,
            wanted=self._finding.reported,
            anchor=self.state.edit_id,
            after=after,
            share=share,
            shares=self._workers,
        )
        run = _Run(share)
        limits = self._limits.for_module(self.state.module)
        run.job = self._executor.submit(
            job, lambda reply: self._replies.put((run, reply)), limits=limits
        )
        return run

    def _restart(self, run: _Run, after: EditId | None = None) -> None:
        """A new job for this share, on the smallest module, behind that edit."""
        self._tried += run.tried
        self._executor.cancel(run.job)
        self._runs[run.share] = self._submitted(run.share, after)

    def _receive(self, run: _Run, reply: Reply | None) -> None:
        match reply:
            case None:
                self._killed += 1
                if run.advanced:  # the executor would start it with a module of long ago
                    self._restart(run)
            case Result(value=Shrunk(module, edit_id, tried)):
                run.tried, run.advanced = tried, True
                if not self._accept(module, edit_id, finder=run):
                    self._restart(run, edit_id)
            case Result(value=Tried(tried, exhausted)):
                run.tried, run.exhausted = tried, exhausted
                if exhausted:
                    ended = all(each.exhausted for each in self._runs)
                    self.state = replace(self.state, ended=ended)
            case Result(value=OtherViolation(violation, module)):
                self._add_other(violation, module)
            case Failed(traceback=text, user_error=True):
                raise UserError(text)
            case Failed(drift=True):  # this TVM lacks what an edit needs: others are tried
                pass
            case Failed(traceback=text):
                self.faults[text] = None
            case Broken(reason=reason):
                raise ExecutorError(reason)
            case Died():
                self._receive_death(run, reply)
            case Ended() if not run.exhausted:
                self._killed += 1
                self._restart(run)

    def _accept(self, module: str, edit_id: EditId, finder: _Run | None = None) -> bool:
        """Restart all jobs but the finder's on this module; false if it was accepted before."""
        mark = digest(module)
        if mark in self._accepted:  # reductions that undo one another
            return False
        self._accepted.add(mark)
        self.trail.append(module)
        self.state = replace(
            self.state, module=module, edit_id=edit_id, accepted=self.state.accepted + 1
        )
        self._count()
        self._progress(self.state)
        for run in [run for run in self._runs if run is not finder]:
            self._restart(run)
        return True

    def _receive_death(self, run: _Run, died: Died) -> None:
        """A child died at a candidate: it is accepted, shows another violation, or is our fault."""
        position = died.position
        if position is None:
            self._killed += 1
            self._restart(run)
            return
        run.tried += 1
        edit_id = EditId(position.index, position.ordinal)
        if position.step == MAKING:
            self.faults[f"An edit killed its process: {died}"] = None
            self._restart(run, edit_id)
            return
        made = make(load_json(self.state.module), edit_id, REDUCTIONS)
        assert made is not None, f"a child has made {edit_id}"
        module = save_json(made)
        violation = death.violation(died)
        if same(violation, self._finding):
            if self._accept(module, edit_id):
                return
        else:
            self._add_other(violation, module)
        self._restart(run, edit_id)

    def _add_other(self, violation: Violation, module: str) -> None:
        finding = Finding(
            violation=violation,
            module=module,
            versions=self._finding.versions,
            calls=self._finding.calls,
            pipeline=self._finding.pipeline,
            exempt=self._finding.exempt,
        )
        self.others.setdefault(mark_of(violation), finding)

    def _count(self) -> None:
        tried = self._tried + sum(run.tried for run in self._runs)
        if tried != self.state.tried:
            self.state = replace(self.state, tried=tried)
            self._progress(self.state)


def _oracles(executor: Executor, finding: Finding, limits: Limits) -> tuple[str, ...] | None:
    """The oracles to run on candidates: for a death only `crash`, if the pass dies there."""
    if finding.oracle not in DEATHS:
        return (finding.oracle,)
    runs = (crash.ORACLE.name,)
    found = again(executor, finding, finding.module, oracles=runs, limits=limits)
    return None if found is None else runs
