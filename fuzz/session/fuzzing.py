"""A campaign of `run` or `nightly`: in a session, with progress on its display."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Collection

from ...compat.release import build_name
from ...generators.ops import new_ops
from ...oracles.contract import NO_CONTRACT
from ..campaign.campaign import CampaignConfig
from ..campaign.events import Event, Finished, HarnessFault, Lacks, Progress
from ..campaign.runner import CampaignRunner
from ..findings.dedup import fails
from ..findings.finding import Finding
from ..output.terminal import counted, duration
from ..process.targets import item_has_contract, marked
from ..report.behaviours import lines_on_own
from ..report.lines import TRACES, files, lines_on_files, traces
from ..system.files import write_whole
from .clock import LATE, Clock
from .session import Session
from .silences import lines_on_uncompared, sentence_on_rules, silence_events
from .unchanged import of_families, own_families, unchanged

LEAST_DRAIN, MOST_DRAIN = 60.0, 600.0
"""Bounds in seconds on the time to confirm and reduce findings, otherwise equal to the budget."""

LEAST_SECONDS = 0.1
"""Seconds of a campaign for which there is no time left."""

STEP_SHARE = 1 / 6
"""The largest share of the time for one step of a pass before it counts as hanging. It is then
confirmed with more patience."""

LEAST_STEP = 2.0
"""Seconds that a step may always take."""


class Fuzzing:
    """Runs a campaign, and records it in the store of the session.

    Findings that earlier sessions left unconfirmed are resumed. If the workers are lost,
    `session.lost` has the reason; violations found until then are confirmed.
    """

    def __init__(
        self,
        config: CampaignConfig,
        session: Session,
        *,
        command: str,
        continued: int | None = None,
        stop_at_first: str | None = None,
        named: Collection[str] = (),
        clock: Clock | None = None,
    ) -> None:
        """
        Args:
            command: the command in the record.
            continued: id of an interrupted run whose bugs count as found by this one.
            stop_at_first: end at the first report of a new bug of at least this grade.
            named: the oracles that the user has requested by name.
            clock: the time of the whole command; the campaign leaves enough of it for its findings.
                None: findings get additional time.
        """
        if clock is not None:
            session.triage.until = clock.end
            step = min(config.limits.step_seconds, max(LEAST_STEP, STEP_SHARE * clock.seconds))
            config = dataclasses.replace(
                config,
                seconds=max(LEAST_SECONDS, clock.left),
                limits=dataclasses.replace(config.limits, step_seconds=step),
            )
        self._clock = clock
        self._session = session
        self._stop = threading.Event()
        self._stop_at_first = stop_at_first
        self._named = named
        self._enough = threading.Event()
        """Set when a reported bug is new and ends the run."""
        self._time_is_up = threading.Event()
        """Set when the rest of the time belongs to the findings."""
        triage = session.triage
        triage.at_once = stop_at_first is not None
        self._runner = runner = CampaignRunner(
            config,
            session.executor,
            triage,
            stop=self._stop,
            listen=self._show,
            command=command,
            continued=continued,
        )
        assert runner.recorder is not None, "the run is recorded"
        self._earlier = {
            finding
            for id, run in session.store.runs.all().items()
            if id != runner.recorder.id
            for finding in run.found
        }
        """Ids of the findings that other runs have reported."""
        session.is_new = self._is_new
        triage.publishers.append(self._published)
        for id in runner.recorder.run.found:
            if (finding := session.store.get(id)) is not None:
                self._published(finding)
        self._greet()
        triage.take_up()

    def run(self) -> Finished:
        """Run the campaign to its end.

        Raises:
            DiskFailure: findings can no longer be written.
        """
        session, runner = self._session, self._runner
        finished = runner.run()
        if runner.lost is not None:
            session.lose(runner.lost)
        for text in session.triage.steps.user_errors:
            session.user_error(text)
        if session.interrupt.stop.is_set():
            session.display.line("stopping; Ctrl-C again to leave findings unconfirmed")
        if self._clock is None:
            until = time.monotonic() + min(
                MOST_DRAIN, max(LEAST_DRAIN, runner.config.seconds or 0.0)
            )
            late = None
        else:
            until, late = self._clock.end, LATE
        session.drain(max(0.0, until - time.monotonic()), late)
        session.remember()
        stats = finished.state.stats
        session.print_shares(stats, finished.state.known_checks)
        idle = list(unchanged(runner.config.targets, stats))
        for each in idle:
            session.output.line(each.sentence, each.event, "yellow")
        ran = list(files(finished.state.lines_ran))
        if ran:
            write_whole(session.store.folder / TRACES, traces(ran))
        if session.output.as_json:
            for event in (*silence_events(stats), *(each.event for each in ran)):
                session.output.emit(event)
        else:
            for text in (*lines_on_files(ran), *lines_on_own(stats)):
                session.output.line(text)
            for text in (sentence_on_rules(stats), *lines_on_uncompared(stats)):
                session.output.line(text)
        runner.end(
            unchanged=[each.sentence for each in idle],
            interrupted=finished.stopped
            and not (self._enough.is_set() or self._time_is_up.is_set()),
        )
        return finished

    def _show(self, event: Event) -> None:
        session = self._session
        match event:
            case Progress():
                session.display.progress(_progress_line(event, session))
            case Lacks(reason=reason):
                session.lacks(reason)
            case HarnessFault():
                session.fault(event.describe(self._runner.config.seed))
        while not self._is_over() and self._stop_at_first is not None and session.triage.pending:
            session.triage.check()
            time.sleep(0.1)  # the finding has the machine, as it may be the one that ends the run
        if self._is_over():
            self._stop.set()

    def _is_over(self) -> bool:
        """Return whether the campaign should end."""
        session = self._session
        if self._clock is not None and self._clock.is_up(
            session.triage.pending, hangs=session.triage.hangs
        ):
            self._time_is_up.set()
        return session.interrupt.stop.is_set() or self._enough.is_set() or self._time_is_up.is_set()

    def _greet(self) -> None:
        session, runner = self._session, self._runner
        config = runner.config
        if config.seconds:
            seconds = config.seconds if self._clock is None else self._clock.seconds
            budget = f"for {duration(seconds)}"
        else:
            budget = f"on {counted(config.modules or 0, 'module')}"
        workers = counted(session.executor.workers, "worker")
        passes = counted(len(config.targets), "pass", "passes")
        session.display.line(
            f"relaxfuzz on {build_name(session.versions)}: {passes} {budget}, "
            f"seed {config.seed}, {workers}"
        )
        for name, families in own_families(config.targets).items():
            given = of_families(families)
            session.output.line(
                f"{name} is fuzzed on modules of {given}; --family NAME: of another",
                {"event": "family", "pass": name, "family": " and ".join(families)},
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
        fail_on = self._stop_at_first
        if fail_on is not None and fails([finding], fail_on, self._named) and self._is_new(finding):
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
    rest = " ".join(map(marked, progress.current))
    return (
        f"{duration(progress.seconds)}  {counted(progress.modules, 'module')}  "
        f"{rate:.0f} checks/s  {findings}{pending}  {rest}"
    )
