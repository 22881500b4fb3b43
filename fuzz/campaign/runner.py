"""One campaign from its first block to its last finding: run, record, confirm, reduce, report.

`relaxfuzz run`, `nightly`, the pytest plugin and the self-test use it. They differ in the display
of its events and in the reasons to end it early.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ...compat import availability
from ...compat.release import tvm_folder, versions
from ..findings.finding import UnconfirmedFinding
from ..findings.runs import Run
from ..process.executor import Executor, ExecutorError
from ..system.errors import UserError
from .campaign import CampaignConfig
from .campaign import run as campaign
from .events import BlockDone, Event, Finished, HarnessFault, Lacks
from .recorder import Recorder
from .state import CampaignState
from .triage import Triage


class CampaignRunner:
    """Runs one campaign, while the triage confirms and reduces its violations.

    Known bugs are counted and not confirmed. The caller resumes findings that earlier sessions left
    pending, with `Triage.take_up`.
    """

    def __init__(
        self,
        config: CampaignConfig,
        executor: Executor,
        triage: Triage,
        *,
        stop: threading.Event | None = None,
        listen: Callable[[Event], None] = lambda event: None,
        command: str | None = None,
        continued: int | None = None,
    ) -> None:
        """
        Args:
            executor: runs the blocks; the triage has its own.
            stop: set it to end the campaign soon.
            listen: called with each event, in the thread of `run`.
            command: record a run of this command in the store; None: record nothing.
            continued: id of an interrupted run whose bugs count as found by this one.
        """
        self.config = config
        self.state = CampaignState()
        """State after the last committed block; at the end, that of `Finished`."""
        self.recorder: Recorder | None = None
        self._executor = executor
        self._triage = triage
        self._stop = stop or threading.Event()
        self._listen = listen
        self.known: set[str] = set()
        """Ids of the violations that are known bugs."""
        self.faults: list[str] = []
        """Faults of the campaign; the triage has its own."""
        self.lost: str | None = None
        """Reason why the campaign's workers could not be kept alive."""
        self._finished: Finished | None = None
        self._versions = versions()
        self._exempt = {target.name: target.exempt for target in config.targets}
        if command is not None:
            self._record(command, continued)

    def _record(self, command: str, continued: int | None) -> None:
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
        self.recorder = Recorder(
            runs=self._triage.store.runs, run=run, continued=continued, known=self.known
        )
        self._triage.publishers.insert(0, self.recorder.found)

    def run(self) -> Finished:
        """Fuzz until the budget is used up, or `stop` is set.

        If the workers are lost, or a pass can no longer be loaded, the campaign ends; `lost` or
        the triage's `user_errors` has the reason.

        Raises:
            DiskFailure: findings can no longer be written.
        """
        events = campaign(self.config, self._executor, self._stop)
        with contextlib.closing(events):
            try:
                for event in events:
                    self._triage.check()
                    self._take(event)
                    self._listen(event)
            except ExecutorError as error:
                self.lost = str(error)
            except UserError as error:
                self._triage.steps.user_errors[str(error)] = None
        assert self._finished is not None, "a campaign ends with Finished"
        return self._finished

    def _take(self, event: Event) -> None:
        match event:
            case UnconfirmedFinding():
                names = (name for call in event.calls for name in self._exempt.get(call.name, ()))
                finding = event.finding(self._versions, tuple(names))
                if self._triage.report(finding):
                    self.known.add(finding.id)
            case HarnessFault():
                self.faults.append(event.describe(self.config.seed))
            case Lacks(reason=reason):
                if self.recorder is not None:
                    self.recorder.lacks(reason)
            case BlockDone(state=state):
                self.state = state
                if self.recorder is not None:
                    self.recorder.block(state, self._knowns, self.faults)
            case Finished():
                self._finished, self.state = event, event.state

    def check(self) -> None:
        """Raise the error that ended the campaign early.

        Raises:
            ExecutorError: the workers could not be kept alive.
            UserError: a pass can no longer be loaded.
        """
        if self.lost is not None:
            raise ExecutorError(self.lost)
        if self._triage.steps.user_errors:
            raise UserError("\n".join(self._triage.steps.user_errors))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Faults of the campaign and of its triage that prevented a check."""
        return (*self.faults, *self._triage.steps.unchecked)

    def end(
        self,
        *,
        interrupted: bool = False,
        unchanged: Sequence[str] = (),
    ) -> None:
        """Record the end of the run, when the triage is done.

        Args:
            interrupted: the run did not come to its end.
            unchanged: sentences on passes that changed nothing.
        """
        assert self.recorder is not None, "the run is recorded"
        self.recorder.end(self.state, self.unchecked, unchanged, interrupted=interrupted)

    @property
    def _knowns(self) -> Mapping[str, int]:
        expected = self._triage.expected
        return {} if expected is None else {k.name: n for k, n in expected.reports.items()}
