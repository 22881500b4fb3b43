"""A campaign as `run` and `nightly` do it: in a session, with progress on its display."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence

from ...compat.release import build_name
from ...generators.ops import new_ops
from ...oracles.contract import NO_CONTRACT
from ...oracles.grades.grade import Grade
from ..campaign.campaign import CampaignConfig
from ..campaign.events import Event, Fault, Finished, Lacks, Progress
from ..campaign.runner import CampaignRunner
from ..findings.dedup import fails
from ..findings.finding import Finding
from ..output.terminal import counted, duration
from ..process.targets import item_has_contract, marked
from .members import headcount, line, lines
from .session import Session
from .shares import shares
from .silences import lines_on_uncompared, sentence_on_rules, silence_events
from .unchanged import own_families, unchanged

LEAST_DRAIN, MOST_DRAIN = 60.0, 600.0
"""Confirming and reducing findings may take as long as the budget, within these bounds."""


class Fuzzing:
    """Runs a campaign, and records it in the store of the session.

    Findings that earlier sessions left unconfirmed are taken up. If the workers are lost,
    `session.lost` has the reason; what was found until then is confirmed, and the run can be
    resumed.
    """

    def __init__(
        self,
        config: CampaignConfig,
        session: Session,
        *,
        command: str,
        resume: bool = False,
        stop_at_first: Grade | None = None,
        named: Collection[str] = (),
    ) -> None:
        """
        Args:
            command: of the record.
            resume: resume the last run of the folder if it was interrupted and had the same
                settings.
            stop_at_first: end as soon as a bug of this grade, or a graver one, is reported that no
                other run has reported.
            named: the oracles that the user has asked by their names.
        """
        self._session = session
        self._stop = threading.Event()
        self._stop_at_first = stop_at_first
        self._named = named
        self._enough = threading.Event()
        """A bug was reported that no other run has reported, and the first one ends the run."""
        triage = session.triage
        self._runner = runner = CampaignRunner(
            config,
            session.executor,
            triage,
            stop=self._stop,
            listen=self._show,
            command=command,
            resume=resume,
        )
        assert runner.recorder is not None, "the run is recorded"
        self._earlier = {
            finding
            for id, run in session.store.runs.all().items()
            if id != runner.recorder.id
            for finding in run.found
        }
        """Ids of what other runs have reported."""
        session.faults += runner.recorder.run.faults
        session.is_new = self._is_new
        triage.publishers.append(self._published)
        for id in runner.recorder.run.found:
            if (finding := session.store.get(id)) is not None:
                self._published(finding)
        self._greet()
        triage.take_up()

    def run(self, named: Sequence[str] | None) -> Finished:
        """Run the campaign to its end.

        Args:
            named: the passes that the user named, whose known bugs are checked at the end; None:
                all.

        Raises:
            DiskFailure: findings can no longer be written.
        """
        session, runner = self._session, self._runner
        finished = runner.run()
        session.display.below((), "")
        session.roster.see(session.executor.members())
        if runner.lost is not None:
            session.lose(runner.lost)
        for text in session.triage.user_errors:
            session.user_error(text)
        if session.interrupt.stop.is_set():
            session.display.line("stopping; Ctrl-C again to leave findings unconfirmed")
        seconds = min(MOST_DRAIN, max(LEAST_DRAIN, runner.config.seconds or 0.0))
        until = time.monotonic() + seconds
        session.drain(seconds)
        session.remember()
        fixed: tuple[str, ...] = ()
        if session.lost is None:
            fixed = session.review(named, until - time.monotonic())
        session.print_shares(shares(finished))
        idle = list(unchanged(runner.config.targets, finished.stats))
        for each in idle:
            session.output.line(each.sentence, each.event, "yellow")
        if session.output.as_json:
            for event in silence_events(finished.stats):
                session.output.emit(event)
        else:
            for text in (sentence_on_rules(finished.stats), *lines_on_uncompared(finished.stats)):
                session.output.line(text)
        runner.end(
            unchanged=[each.sentence for each in idle],
            interrupted=finished.stopped and not self._enough.is_set(),
            fixed=fixed,
        )
        return finished

    def _show(self, event: Event) -> None:
        session = self._session
        match event:
            case Progress(members=members):
                session.roster.see(members)
                session.display.below(lines(members), line(members))
                session.display.progress(_progress_line(event, session))
            case Lacks(reason=reason):
                session.lacks(reason)
            case Fault():
                session.fault(event.describe(self._runner.config.seed))
        if session.interrupt.stop.is_set() or self._enough.is_set():
            self._stop.set()

    def _greet(self) -> None:
        session, runner = self._session, self._runner
        config, done = runner.config, runner.state
        if runner.recorder is not None and runner.recorder.why_new is not None:
            session.display.line(f"a new campaign: {runner.recorder.why_new}")
        if config.seconds:
            budget = f"for {duration(config.seconds)}"
        else:
            budget = f"on {counted(config.modules or 0, 'module')}"
        members = session.executor.members()
        workers = headcount(members) if members else counted(session.executor.workers, "worker")
        resumed = f", resumed after {counted(done.modules, 'module')}" if done.blocks else ""
        passes = counted(len(config.targets), "pass", "passes")
        session.display.line(
            f"relaxfuzz on {build_name(session.versions)}: {passes} {budget}, "
            f"seed {config.seed}, {workers}{resumed}"
        )
        for name, family in own_families(config.targets).items():
            session.output.line(
                f"{name} is fuzzed on modules of the family {family}; --family NAME: of another",
                {"event": "family", "pass": name, "family": family},
            )
        labels = [target.label for target in config.targets]
        new = {
            NO_CONTRACT: [label for label in labels if not item_has_contract(label)],
            "not covered": [f"the operator {name}" for name in new_ops()],
        }
        for what, names in new.items():
            if names:
                event = {"event": "new", "what": what, "names": names}
                session.output.line(f"{what}: {', '.join(names)}", event)

    def _published(self, finding: Finding) -> None:
        least = self._stop_at_first
        if least is not None and fails([finding], least, self._named) and self._is_new(finding):
            self._enough.set()

    def _is_new(self, finding: Finding) -> bool:
        rows = self._session.store.rows
        row = rows.of(finding.id)
        return finding.id not in self._earlier and (
            row is None or all(rows.of(id) != row for id in self._earlier)
        )


def _progress_line(progress: Progress, session: Session) -> str:
    rate = progress.checks / progress.seconds if progress.seconds else 0.0
    findings = counted(session.triage.bugs, "finding")
    pending = f" (+{session.triage.pending} to confirm)" if session.triage.pending else ""
    # What each worker of a cluster does is in its own line.
    alone = session.executor is session.pool
    rest = " ".join(map(marked, progress.current)) if alone else headcount(progress.members)
    return (
        f"{duration(progress.seconds)}  {counted(progress.modules, 'module')}  "
        f"{rate:.0f} checks/s  {findings}{pending}  {rest}"
    )
