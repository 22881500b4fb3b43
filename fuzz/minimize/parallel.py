"""The parallel search: each child tries a share of the edits, and the first success is accepted."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...compat.serialization import load_json, save_json
from ...oracles.structural import crash
from ..findings.confirm import DEATHS, again, same
from ..findings.finding import Finding
from ..jobs.jobs import Check
from ..process import death
from ..process.executor import Executor, ExecutorError
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
from ..system.errors import UserError
from .child import MAKING, Reduce, SearchProgress, Shrunk
from .reduction import FIRST, EditId
from .reductions import REDACTIONS, REDUCTIONS
from .search import digest, make

TICK = 0.25

HANG_LIMITS = replace(LIMITS, step_seconds=2.0)
"""Limits for a candidate of a finding that hangs; the result is confirmed with the usual ones."""

MOST_KILLED = 10
"""Deaths of children by outside causes after which the search gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """The progress of a search; enough to continue it."""

    module: str
    """The smallest module, as TVM JSON."""
    edit_id: EditId = FIRST
    """The edit that made it."""
    tried: int = 0
    accepted: int = 0
    """Number of accepted candidates."""
    ended: bool = False
    """True if no edit leads to a smaller module."""


@dataclass(slots=True, eq=False)
class _Run:
    """One job: a share of the edits of the smallest module."""

    share: int
    job: int = 0
    advanced: bool = False
    """True if it works on a module that it found itself."""
    tried: int = 0
    exhausted: bool = False


class ParallelSearch:
    """Makes the module of a finding smaller, starting from a state.

    No pass runs in this process. Progress is never lost, even if children die.
    """

    def __init__(
        self,
        executor: Executor,
        finding: Finding,
        state: SearchState,
        *,
        workers: int = 1,
        redacts: bool = False,
        progress: Callable[[SearchState], None] = lambda state: None,
    ) -> None:
        """
        Args:
            workers: number of concurrent jobs.
            redacts: see `Reduce`.
            progress: called with each smaller module at once, and with the counts now and then.

        Raises:
            ExecutorError: the executor is closed or broken, or the harness failed.
        """
        self.state = state
        self.trail: list[str] = []
        """The accepted modules, in order: the last is the smallest."""
        self.faults: dict[str, None] = {}
        """Faults of the harness itself."""
        self.lacking: dict[str, None] = {}
        """Features that the installed TVM lacks, so that edits were skipped."""
        self._executor = executor
        self._finding = finding
        self._workers = workers
        self._progress = progress
        self._redacts = redacts
        self._limits = HANG_LIMITS if finding.oracle == Death.HANG else LIMITS
        self._oracles = _oracles(executor, finding, self._limits)
        self._tried = state.tried  # by finished jobs
        self._killed = 0
        self._accepted = {digest(state.module)}
        self._runs: list[_Run] = []
        self._replies: queue.SimpleQueue[tuple[_Run, Reply | None]] = queue.SimpleQueue()

    def run(self, over: Callable[[], bool]) -> None:
        """Search until nothing smaller is found.

        Args:
            over: called a few times a second; true ends the search.

        Raises:
            ExecutorError: see the constructor.
        """
        try:
            self._runs = [self._submitted(share) for share in range(self._workers)]
            while not over() and not self.state.ended and self._killed < MOST_KILLED:
                with contextlib.suppress(queue.Empty):
                    run, reply = self._replies.get(timeout=TICK)
                    if run in self._runs:  # otherwise it is about a larger module
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
            redacts=self._redacts,
        )
        run = _Run(share)
        limits = self._limits.for_module(self.state.module)
        run.job = self._executor.submit(
            job, lambda reply: self._replies.put((run, reply)), limits=limits
        )
        return run

    def _restart(self, run: _Run, after: EditId | None = None) -> None:
        """Submit a new job for this share, on the smallest module, after that edit."""
        self._tried += run.tried
        self._executor.cancel(run.job)
        self._runs[run.share] = self._submitted(run.share, after)

    def _receive(self, run: _Run, reply: Reply | None) -> None:
        match reply:
            case None:
                self._killed += 1
                if run.advanced:  # the executor would start it with an outdated module
                    self._restart(run)
            case Result(value=Shrunk(module, edit_id, tried)):
                run.tried, run.advanced = tried, True
                if not self._accept(module, edit_id, finder=run):
                    self._restart(run, edit_id)
            case Result(value=SearchProgress(tried, exhausted)):
                run.tried, run.exhausted = tried, exhausted
                if exhausted:
                    ended = all(each.exhausted for each in self._runs)
                    self.state = replace(self.state, ended=ended)
            case Failed(traceback=text, user_error=True):
                raise UserError(text)
            case Failed(traceback=text, drift=True):  # an edit needs it, so others are tried
                self.lacking[text] = None
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
        """Restart all other jobs on this module; return false if it was accepted before."""
        mark = digest(module)
        if mark in self._accepted:  # reductions may undo one another
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
        """Handle a death at a candidate: accept it, continue after it, or report a fault."""
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
        reductions = REDACTIONS if self._redacts else REDUCTIONS
        made = make(load_json(self.state.module), edit_id, reductions)
        assert made is not None, f"a child has made {edit_id}"
        module = save_json(made)
        # The title of the finding would not describe a candidate that exceeds another limit.
        is_same = died.death == self._finding.oracle and same(death.violation(died), self._finding)
        if not (is_same and self._accept(module, edit_id)):
            self._restart(run, edit_id)

    def _count(self) -> None:
        tried = self._tried + sum(run.tried for run in self._runs)
        if tried != self.state.tried:
            self.state = replace(self.state, tried=tried)
            self._progress(self.state)


def _oracles(executor: Executor, finding: Finding, limits: Limits) -> tuple[str, ...] | None:
    """The oracles to run on candidates; for a death only `crash`, if that reproduces it."""
    if finding.oracle not in DEATHS:
        return (finding.oracle,)
    runs = (crash.ORACLE.name,)
    found = again(executor, finding, finding.module, oracles=runs, limits=limits)
    return None if found is None else runs
