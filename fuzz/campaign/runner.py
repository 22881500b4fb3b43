"""One campaign from its first block to its last finding: run, record, confirm, reduce, report.

`relaxfuzz run`, `nightly`, the pytest plugin and the zoo use it. They differ in how they show its
events, and in what ends it early.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ...compat import availability
from ...compat.release import tvm_folder, versions
from ..findings.finding import Finding, id_of
from ..findings.runs import Run
from ..process.executor import Executor, ExecutorError
from ..user_input.errors import UserError
from .campaign import CampaignConfig
from .campaign import run as campaign
from .events import BlockDone, Event, Fault, Finished, Found, Lacks
from .recorder import Recorder, begin
from .state import State
from .triage import Triage


class CampaignRunner:
    """Runs one campaign; the triage confirms and reduces what it finds while it runs.

    Known bugs are counted and not confirmed. Findings that earlier sessions left pending are taken
    up by the caller, with `Triage.take_up`.
    """

    def __init__(
        self,
        config: CampaignConfig,
        executor: Executor,
        triage: Triage,
        *,
        stop: threading.Event | None = None,
        listen: Callable[[Event], None] = lambda event: None,
        accept: Callable[[Finding], bool] = lambda finding: True,
        command: str | None = None,
        resume: bool = False,
    ) -> None:
        """
        Args:
            executor: runs the blocks; the triage has its own.
            stop: set it to end the campaign soon.
            listen: called with each event, in the thread of `run`.
            accept: whether a violation counts; others are dropped.
            command: record a run of this command in the store; None: record nothing.
            resume: continue the last run of the command if it was interrupted and was started with
                the same settings; `recorder.why_new` is the reason if it is not continued.
        """
        self.config = config
        self.state = State()
        """After the last committed block."""
        self.recorder: Recorder | None = None
        self._executor = executor
        self._triage = triage
        self._stop = stop or threading.Event()
        self._listen = listen
        self._accept = accept
        self.known: set[str] = set()
        """Ids of the violations that are known bugs."""
        self.faults: list[str] = []
        """Of the campaign; the triage has its own."""
        self.lost: str | None = None
        """Why the workers of the campaign could not be kept alive."""
        self._finished: Finished | None = None
        self._versions = versions()
        self._exempt = {target.name: target.exempt for target in config.targets}
        if command is not None:
            self._record(command, resume=resume)

    def _record(self, command: str, *, resume: bool) -> None:
        run = Run(
            command=command,
            started=time.time(),
            seed=self.config.seed,
            workers=self._executor.workers,
            versions=self._versions,
            passes=tuple(target.label for target in self.config.targets),
            tvm_folder=tvm_folder(),
            lacking=tuple(availability.current().lines()),
        )
        self.recorder = recorder = begin(self._triage.store.runs, run, self.config, resume=resume)
        self.config, self.state, self.known = recorder.config, recorder.state, recorder.known
        self.faults += recorder.run.faults
        self._triage.publishers.insert(0, recorder.found)
        # Continue with what the run reported before it was interrupted.
        triage = self._triage
        if triage.expected is not None:
            triage.expected.recall(recorder.run.knowns, self.known)
        pending = {finding.id for finding in triage.store.pending()}
        for id in dict.fromkeys([*recorder.run.found, *map(id_of, self.state.occurrences)]):
            finding = triage.store.get(id)
            if finding is not None and finding.confirmed and id not in self.known:
                triage.restore(finding, published=id in recorder.run.found, done=id not in pending)

    def run(self) -> Finished:
        """Fuzz until the budget is used up, or `stop` is set.

        If the workers are lost, or a pass can no longer be loaded, the campaign ends; `lost` or
        the triage's `user_errors` has the reason.

        Raises:
            DiskFailure: findings can no longer be written.
        """
        events = campaign(self.config, self._executor, self._stop, self.state)
        with contextlib.closing(events):
            try:
                for event in events:
                    self._triage.check()
                    self._take(event)
                    self._listen(event)
            except ExecutorError as error:
                self.lost = str(error)
            except UserError as error:
                self._triage.user_errors[str(error)] = None
        if self.recorder is not None:
            self.recorder.checkpoint(self.state)
        return self._done()

    def _take(self, event: Event) -> None:
        match event:
            case Found():
                names = (name for call in event.calls for name in self._exempt.get(call.name, ()))
                finding = event.finding(self._versions, tuple(names))
                if self._accept(finding) and self._triage.report(finding):
                    self.known.add(finding.id)
            case Fault():
                self.faults.append(event.describe(self.config.seed))
            case Lacks(reason=reason):
                if self.recorder is not None:
                    self.recorder.lacks(reason)
            case BlockDone(state=state):
                self.state = state
                if self.recorder is not None:
                    self.recorder.block(state, self._knowns, self.faults)
            case Finished():
                self._finished = event

    def check(self) -> None:
        """Raise what ended the campaign early.

        Raises:
            ExecutorError: the workers could not be kept alive.
            UserError: a pass can no longer be loaded.
        """
        if self.lost is not None:
            raise ExecutorError(self.lost)
        if self._triage.user_errors:
            raise UserError("\n".join(self._triage.user_errors))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Faults of the campaign and of its triage for which a check could not be made."""
        return (*self.faults, *self._triage.unchecked)

    def end(
        self,
        *,
        interrupted: bool = False,
        fixed: Sequence[str] = (),
        unchanged: Sequence[str] = (),
    ) -> None:
        """Record the end of the run, when the triage is done.

        Args:
            interrupted: the run can be continued.
            fixed: names of known bugs that no longer fail.
            unchanged: sentences on passes that changed nothing.
        """
        assert self.recorder is not None, "the run is recorded"
        left = self.state if interrupted else None
        self.recorder.end(self._done(), left, fixed, self.unchecked, unchanged)

    @property
    def done(self) -> State | Finished:
        """What it has done so far, by committed blocks until it has finished."""
        return self._finished or self.state

    def _done(self) -> Finished:
        assert self._finished is not None, "a campaign ends with Finished"
        return self._finished

    @property
    def _knowns(self) -> Mapping[str, int]:
        expected = self._triage.expected
        return {} if expected is None else {k.name: n for k, n in expected.reports.items()}
