"""The search in workers: each child tries a share of the edits, and the first that holds wins."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...generators.tvm_api import load_json, save_json
from ...oracles.structural import crash
from ...oracles.violation import Violation
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
    Identity,
    Limits,
    Reply,
    Result,
    identity,
)
from ..user_input.mistake import Mistake
from .child import MAKING, OtherViolation, Reduce, Shrunk, Tried
from .reduction import FIRST, Spot
from .reductions import REDUCTIONS
from .search import digest, make

TICK = 0.25

HANG_LIMITS = replace(LIMITS, step_seconds=2.0)
"""For a candidate of a finding that hangs; the end is confirmed with the usual ones."""

LOSSES = 10
"""So many children may be lost to somebody outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a search has come; enough to go on from it."""

    module: str
    """The smallest one, as TVM JSON."""
    spot: Spot = FIRST
    """The edit that made it."""
    tried: int = 0
    held: int = 0
    ended: bool = False
    """No edit leads on from it."""


@dataclass(slots=True)
class Outcome:
    """What came of a search."""

    state: State
    trail: list[str]
    """The modules that held, the last one being the smallest."""
    met: list[Finding]
    """Other violations that candidates showed; nobody has seen them again."""
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
        progress: told of each smaller module at once, and of the counts now and then.

    Raises:
        ExecutorError: the executor is closed or broken, or the harness failed.
    """
    race = _Race(executor, finding, state, workers, progress)
    race.run(over)
    return Outcome(race.state, race.trail, list(race.met.values()), list(race.faults))


@dataclass(slots=True, eq=False)
class _Run:
    """One job: a share of the edits of the smallest module."""

    share: int
    job: int = 0
    advanced: bool = False
    """It works on a module that it found itself."""
    tried: int = 0
    exhausted: bool = False


class _Race:
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
        self.met: dict[Identity, Finding] = {}
        self.faults: dict[str, None] = {}
        self._executor = executor
        self._finding = finding
        self._workers = workers
        self._progress = progress
        self._limits = HANG_LIMITS if finding.oracle == Death.HANG else LIMITS
        self._oracles = _oracles(executor, finding, self._limits)
        self._tried = state.tried  # by jobs that are over
        self._losses = 0
        self._accepted = {digest(state.module)}
        self._runs: list[_Run] = []
        self._replies: queue.SimpleQueue[tuple[_Run, Reply | None]] = queue.SimpleQueue()

    def run(self, over: Callable[[], bool]) -> None:
        try:
            self._runs = [self._submitted(share) for share in range(self._workers)]
            while not over() and not self.state.ended and self._losses < LOSSES:
                with contextlib.suppress(queue.Empty):
                    run, reply = self._replies.get(timeout=TICK)
                    if run in self._runs:  # else it speaks of a larger module
                        self._hear(run, reply)
                self._count()
        finally:
            for run in self._runs:
                self._executor.cancel(run.job)

    def _submitted(self, share: int, after: Spot | None = None) -> _Run:
        check = Check(
            module=self.state.module,
            calls=self._finding.calls,
            pipeline=self._finding.pipeline,
            oracles=self._oracles,
            exempt=self._finding.exempt,
        )
        job = Reduce(
            check=check,
            wanted=identity(self._finding.violation),
            anchor=self.state.spot,
            after=after,
            share=share,
            shares=self._workers,
        )
        run = _Run(share)

        def sink(reply: Reply | None) -> None:
            self._replies.put((run, reply))

        run.job = self._executor.submit(job, sink, limits=self._limits)
        return run

    def _restart(self, run: _Run, after: Spot | None = None) -> None:
        """A new job for this share, on the smallest module, behind that edit."""
        self._tried += run.tried
        self._executor.cancel(run.job)
        self._runs[run.share] = self._submitted(run.share, after)

    def _hear(self, run: _Run, reply: Reply | None) -> None:
        match reply:
            case None:
                self._losses += 1
                if run.advanced:  # the executor would start it with a module of long ago
                    self._restart(run)
            case Result(value=Shrunk(module, spot, tried)):
                run.tried, run.advanced = tried, True
                if not self._accept(module, spot, finder=run):
                    self._restart(run, spot)
            case Result(value=Tried(tried, exhausted)):
                run.tried, run.exhausted = tried, exhausted
                if exhausted:
                    ended = all(each.exhausted for each in self._runs)
                    self.state = replace(self.state, ended=ended)
            case Result(value=OtherViolation(violation, module)):
                self._meet(violation, module)
            case Failed(traceback=text, mistake=True):
                raise Mistake(text)
            case Failed(traceback=text):
                self.faults[text] = None
            case Broken(reason=reason):
                raise ExecutorError(reason)
            case Died():
                self._bury(run, reply)
            case Ended() if not run.exhausted:
                self._losses += 1
                self._restart(run)

    def _accept(self, module: str, spot: Spot, finder: _Run | None = None) -> bool:
        """All go on from this module, its finder by itself; false if that would be in circles."""
        mark = digest(module)
        if mark in self._accepted:  # reductions that undo one another
            return False
        self._accepted.add(mark)
        self.trail.append(module)
        self.state = replace(self.state, module=module, spot=spot, held=self.state.held + 1)
        self._count()
        self._progress(self.state)
        for run in [run for run in self._runs if run is not finder]:
            self._restart(run)
        return True

    def _bury(self, run: _Run, died: Died) -> None:
        """The candidate at which a child died holds, or shows something else, or is our fault."""
        position = died.position
        if position is None:
            self._losses += 1
            self._restart(run)
            return
        run.tried += 1
        spot = Spot(position.index, position.ordinal)
        if position.step == MAKING:
            self.faults[f"An edit killed its process: {died}"] = None
            self._restart(run, spot)
            return
        made = make(load_json(self.state.module), spot, REDUCTIONS)
        assert made is not None, f"a child has made {spot}"
        module = save_json(made)
        violation = death.violation(died)
        if same(violation, self._finding):
            if self._accept(module, spot):
                return
        else:
            self._meet(violation, module)
        self._restart(run, spot)

    def _meet(self, violation: Violation, module: str) -> None:
        finding = Finding.of(
            violation,
            module=module,
            versions=self._finding.versions,
            calls=self._finding.calls,
            pipeline=self._finding.pipeline,
            exempt=self._finding.exempt,
        )
        self.met.setdefault(identity(violation), finding)

    def _count(self) -> None:
        tried = self._tried + sum(run.tried for run in self._runs)
        if tried != self.state.tried:
            self.state = replace(self.state, tried=tried)
            self._progress(self.state)


def _oracles(executor: Executor, finding: Finding, limits: Limits) -> tuple[str, ...] | None:
    """The oracles to ask of candidates.

    A death may come in any step of a check, but mostly it comes where the pass runs at all; then
    nothing else needs to be asked.
    """
    if finding.oracle not in DEATHS:
        return (finding.oracle,)
    runs = (crash.ORACLE.name,)
    found = again(executor, finding, finding.module, oracles=runs, limits=limits)
    return None if found is None else runs
