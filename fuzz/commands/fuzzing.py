"""A campaign as `run` and `nightly` do it: told, recorded, its findings confirmed and reduced."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from ..campaign.campaign import CampaignConfig
from ..campaign.campaign import run as campaign
from ..campaign.events import BlockDone, Fault, Finished, Found, Progress
from ..campaign.members import headcount, line, lines
from ..campaign.recorder import Begun, begin
from ..findings.finding import Finding, id_of
from ..findings.known import shares
from ..findings.runs import Run
from ..output.terminal import counted, duration
from ..process.executor import ExecutorError
from ..user_input.mistake import Mistake
from .session import Session

LEAST_DRAIN, MOST_DRAIN = 60.0, 600.0
"""Confirming and reducing what was found may go on as long as the budget did, within these."""


def fuzz(
    config: CampaignConfig,
    session: Session,
    *,
    command: str,
    named: Sequence[str] | None,
    resume: bool = False,
    stop_at_first: bool = False,
) -> Finished:
    """Run a campaign to its end, and record it in the store.

    What former sessions in this folder left unconfirmed is taken up. Where the workers are lost,
    `session.lost` says why; what was found until then is confirmed all the same, and the run can
    be gone on with.

    Args:
        command: who runs it, for the record.
        named: the passes that the user named, whose knowns are asked for at the end; None: all.
        resume: go on with the last run of the folder, if that was interrupted, and asked for the
            same. Why it does not is said in one line.
        stop_at_first: end as soon as the user has been told of a bug that no other run has told.

    Raises:
        DiskLost: what is found cannot be kept any more.
    """
    run = Run(
        command=command,
        started=time.time(),
        seed=config.seed,
        workers=session.executor.workers,
        versions=session.versions,
        passes=tuple(target.label for target in config.targets),
    )
    begun = begin(session.store.runs, run, config, resume=resume)
    return _Fuzzing(begun, session, stop_at_first=stop_at_first).run(named)


class _Fuzzing:
    def __init__(self, begun: Begun, session: Session, *, stop_at_first: bool) -> None:
        self._config = begun.config
        self._recorder = begun.recorder
        self._state = begun.state
        self._session = session
        self._stop_at_first = stop_at_first
        self._before = {
            finding
            for id, run in session.store.runs.all().items()
            if id != begun.recorder.id
            for finding in run.found
        }
        """Ids of what other runs have told."""
        self._first = threading.Event()
        """A bug was told that no other run has told."""
        self._exempt = {target.name: target.exempt for target in begun.config.targets}
        self._greet(begun)
        self._recall()
        session.on_told, session.is_new = self._told, self._is_new
        session.take_up()

    def run(self, named: Sequence[str] | None) -> Finished:
        session, recorder = self._session, self._recorder
        finished = self._campaign()
        recorder.checkpoint(self._state)
        if session.interrupt.stop.is_set():
            session.display.line("stopping; Ctrl-C again to leave findings unconfirmed")
        seconds = min(MOST_DRAIN, max(LEAST_DRAIN, self._config.seconds or 0.0))
        until = time.monotonic() + seconds
        session.drain(seconds)
        session.remember()
        fixed: tuple[str, ...] = ()
        if session.lost is None:
            fixed = session.review(named, until - time.monotonic())
        known = {each for each in finished.occurrences if id_of(each) in recorder.known}
        session.tell_shares(shares(finished, known))
        interrupted = finished.stopped and not self._is_enough
        faults = [*session.faults, *session.triage.faults]
        recorder.end(finished, self._state if interrupted else None, fixed, faults)
        return finished

    @property
    def _is_enough(self) -> bool:
        return self._stop_at_first and self._first.is_set()

    def _campaign(self) -> Finished:
        session, recorder = self._session, self._recorder
        stop = threading.Event()
        finished: Finished | None = None
        events = campaign(self._config, session.executor, stop, self._state)
        try:
            for event in events:
                session.triage.check()
                match event:
                    case Found():
                        finding = self._finding(event)
                        if session.report(finding):
                            recorder.known.add(finding.id)
                    case BlockDone():
                        self._state = event.state
                        recorder.block(event.state, self._knowns(), session.faults)
                    case Progress(members=members):
                        session.roster.see(members)
                        session.display.below(lines(members), line(members))
                        session.display.progress(_line(event, session))
                    case Fault():
                        session.fault(event.said(self._config.seed))
                    case Finished():
                        finished = event
                if session.interrupt.stop.is_set() or self._is_enough:
                    stop.set()
        except ExecutorError as error:
            session.lose(str(error))
        except Mistake as error:
            session.mistake(str(error))
        finally:
            events.close()
        session.display.below((), "")
        session.roster.see(session.executor.members())
        assert finished is not None, "a campaign ends with Finished"
        return finished

    def _greet(self, begun: Begun) -> None:
        session, config, state = self._session, self._config, self._state
        if begun.why_new is not None:
            session.display.line(f"a new campaign: {begun.why_new}")
        budget = (
            f"for {duration(config.seconds)}" if config.seconds else f"{config.modules} modules"
        )
        members = session.executor.members()
        workers = headcount(members) if members else counted(session.executor.workers, "worker")
        went = f", going on after {counted(state.modules, 'module')}" if state.blocks else ""
        session.display.line(
            f"relaxfuzz on TVM {session.versions['tvm']}: {len(config.targets)} passes {budget}, "
            f"seed {config.seed}, {workers}{went}"
        )

    def _recall(self) -> None:
        """What the run has reported before it was interrupted."""
        session, run, state = self._session, self._recorder.run, self._state
        session.expected.recall(run.knowns, self._recorder.known)
        session.faults += run.faults
        pending = {finding.id for finding in session.store.pending()}
        for id in dict.fromkeys([*run.found, *map(id_of, state.occurrences)]):
            finding = session.store.get(id)
            if finding is not None and finding.confirmed and id not in self._recorder.known:
                told = id in run.found
                session.triage.recall(finding, told=told, done=id not in pending)
                if told and self._is_new(finding):
                    self._first.set()

    def _told(self, finding: Finding) -> None:
        self._recorder.told(finding)
        if self._is_new(finding):
            self._first.set()

    def _is_new(self, finding: Finding) -> bool:
        rows = self._session.store.rows
        row = rows.of(finding.id)
        return finding.id not in self._before and (
            row is None or all(rows.of(id) != row for id in self._before)
        )

    def _knowns(self) -> Mapping[str, int]:
        return {known.name: count for known, count in self._session.expected.reports.items()}

    def _finding(self, found: Found) -> Finding:
        exempt = (name for call in found.calls for name in self._exempt.get(call.name, ()))
        return found.finding(self._session.versions, tuple(exempt))


def _line(progress: Progress, session: Session) -> str:
    rate = progress.checks / progress.seconds if progress.seconds else 0.0
    findings = session.triage.told
    pending = f" (+{session.triage.pending} to confirm)" if session.triage.pending else ""
    # What each worker of a cluster is at stands in its own line.
    alone = session.executor is session.pool
    rest = " ".join(progress.current) if alone else headcount(progress.members)
    return (
        f"{duration(progress.seconds)}  {progress.modules} modules  {rate:.0f} checks/s  "
        f"{findings} findings{pending}  {rest}"
    )
