"""What `run`, `check`, `watch` and `nightly` share: store, workers, triage and report."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from ...compat import availability
from ...compat.release import versions
from ...oracles.grades.grade import Grade
from ...oracles.passcall import PassCall
from ..campaign.triage import Triage
from ..cluster.code import Code
from ..cluster.connection import connect
from ..cluster.where import Where
from ..findings.dedup import by_row, fails, gravest, similar_to
from ..findings.finding import FailedStep, Finding
from ..findings.known import (
    NO_LONGER,
    USERS,
    Choice,
    Expected,
    add,
    is_certain,
    verify,
)
from ..findings.store import Store
from ..output.failure_text import failed_step, repeat
from ..output.terminal import (
    GRADE_STYLES,
    Cells,
    Display,
    counted,
    display,
    duration,
    findings_table,
    results,
)
from ..process.executor import Executor, ExecutorError, News
from ..process.local_pool import LocalPool
from ..system.files import sweep
from ..system.lock import alone
from .finding_events import brief_event, event_of, in_one_line
from .interrupt import Interrupt
from .members import Roster
from .shares import Share
from .silences import NOTHING_COMPARED, loud_environment

MANY = 0.05
"""A pass is listed if at least this share of its checks ended in a known bug."""


class Output:
    """Lines and progress on stderr, JSON events on stdout; any thread may use it."""

    def __init__(self, *, as_json: bool) -> None:
        """
        Args:
            as_json: print results as JSON events, one a line.
        """
        self.as_json = as_json
        self.display: Display = display(Console(stderr=True))
        self._lock = threading.Lock()

    def line(self, text: str, event: Mapping[str, object] | None = None, style: str = "") -> None:
        """A line for people; where JSON is wanted, the event instead, if there is one."""
        if self.as_json and event is not None:
            self.emit(event)
        else:
            self.display.line(text, style)

    def emit(self, event: Mapping[str, object]) -> None:
        """One line of JSON."""
        with self._lock:
            print(json.dumps(event), flush=True)

    def news(self, news: News) -> None:
        """Something happened to the workers of a cluster."""
        self.line(news.text, {"event": "cluster", **dataclasses.asdict(news)})


class Session:
    """One run of a command."""

    def __init__(
        self, store: Store, pool: LocalPool, choice: Choice, expected: Expected, output: Output
    ) -> None:
        self.store = store
        self.pool = pool
        """The processes of this machine that confirm and reduce."""
        self.executor: Executor = pool
        """Runs campaigns."""
        self.lost: str | None = None
        """Why the workers of the campaign could not be kept alive."""
        self.roster = Roster()
        self.expected = expected
        self.faults: list[str] = []
        """Errors of the harness itself, for which a check could not be made."""
        self.unwritten: list[str] = []
        """Errors of the harness itself, for which a report could not be written."""
        self.user_errors: dict[str, None] = {}
        """Why passes of the user's can no longer be loaded."""
        self.versions = versions()
        self.available = availability.current()
        self.interrupt = Interrupt()
        self.output = output
        self.display = output.display
        self.triage = Triage(store, pool, self._print_finding, expected=expected)
        self.is_new: Callable[[Finding], bool] = lambda finding: True
        """Whether no earlier run in this folder has reported the bug."""
        self._choice = choice
        self._lacking: set[str] = set()

    @property
    def stopped(self) -> bool:
        """Nothing new is started: the user wants to stop, or the workers are gone."""
        return self.interrupt.stop.is_set() or self.lost is not None

    def fault(self, text: str) -> None:
        """Print an error of the harness, for which a check could not be made, and go on."""
        self.faults.append(text)
        self._print_fault(text)

    def no_report(self, text: str) -> None:
        """Print an error of the harness, for which a report could not be written."""
        self.unwritten.append(text)
        self._print_fault(text)

    def _print_fault(self, text: str) -> None:
        self.display.line(f"fault of relaxfuzz: {text}", style="bold red")
        if self.output.as_json:
            self.output.emit({"event": "fault", "text": text})

    def print_faults(self) -> None:
        """Print what the harness itself failed at in the triage."""
        for text in self.triage.unchecked:
            self.fault(text)
        for finding, failed in self.triage.failed_steps:
            self._failed_step(finding, failed)

    def _print_pending(self) -> None:
        """Name what the time was over for: a run with more time takes it up."""
        for finding in self.store.pending() if self.triage.pending else ():
            text = f"no time to confirm: {in_one_line(finding)}"
            self.output.line(text, brief_event("pending", finding))

    def print_unconfirmed(self) -> None:
        """Name what did not fail again: it may be due to chance, or to the modules before it."""
        for finding in self.triage.unconfirmed:
            module = str(self.store.module(finding))
            text = f"did not fail again: {in_one_line(finding)}, {module}"
            self.output.line(text, {**brief_event("unconfirmed", finding), "module": module})

    def _failed_step(self, finding: Finding, failed: FailedStep) -> None:
        """Print what the harness failed at with a finding that is kept."""
        self.display.line(failed_step(finding, failed, self.store), style="bold red")
        if self.output.as_json:
            event = {"event": "fault", "finding": finding.id, "step": failed.step}
            module = str(self.store.module_of(finding, failed))
            command = repeat(finding, self.store)
            self.output.emit(
                {**event, "text": failed.traceback, "module": module, "command": command}
            )

    def lacks(self, reason: str) -> None:
        """Print, once, what the installed TVM turned out to lack; the session continues."""
        if reason not in self._lacking:
            self._lacking.add(reason)
            self.output.line(f"left out: {reason}", {"event": "drift", "reason": reason})

    def user_error(self, text: str) -> None:
        """Print, once, why a pass of the user's can no longer be loaded."""
        if text not in self.user_errors:
            self.user_errors[text] = None
            self.display.line(text, style="bold red")

    def lose(self, text: str) -> None:
        """The workers of the campaign are gone: print why; the session ends in order."""
        self.lost = text
        self.display.line(text, style="bold red")

    def drain(self, seconds: float, stuck: float | None = None) -> None:
        """Let the triage finish, show its progress, and name what it had no time to confirm.

        Args:
            seconds: after these nothing more is reduced.
            stuck: what takes so much longer stays pending; see `Triage.drain`.
        """
        if self.interrupt.stop.is_set():
            seconds = 0.0
        triage = self.triage
        todo = []
        if triage.pending:
            what = "to confirm and reduce" if seconds else "to confirm"
            todo.append(f"{counted(triage.pending, 'finding')} {what}")
        if todo:
            more = f", for up to {duration(seconds)} more" if seconds else ""
            self.display.line(f"{', '.join(todo)}{more}")

        def tick() -> None:
            self.display.progress(
                f"{counted(triage.pending, 'finding')} to confirm and reduce, "
                f"{len(triage.published)} done"
            )
            if self.interrupt.now.is_set():
                raise KeyboardInterrupt
            if self.interrupt.stop.is_set():
                self.triage.hurry()

        try:
            self.triage.drain(seconds, tick, stuck)
        except KeyboardInterrupt:
            self.display.line(f"interrupted: {self.triage.pending} findings were not confirmed")
        else:
            self._print_pending()
        for text in self.triage.user_errors:
            self.user_error(text)

    def review(self, passes: Sequence[str] | None, seconds: float) -> tuple[str, ...]:
        """Print which known bugs of these passes (None: of all) no longer fail; their names.

        Those that were found do fail. Of the others the reproducers are run while time is left,
        unless the bug is recorded to fail on exactly this TVM.
        """
        fixed: list[str] = []
        version = self.expected.version
        todo = [each for each in self.expected.unseen(passes) if not is_certain(each, version)]
        stop = self.interrupt.stop
        timer = threading.Timer(seconds, stop.set)
        timer.daemon = True
        timer.start()
        try:
            for done, (known, outcome) in enumerate(verify(todo, self.pool.workers, stop), 1):
                self.display.progress(f"{done} of {len(todo)} known bugs checked  {known.name}")
                if outcome.status in NO_LONGER:
                    fixed.append(known.name)
                    event = {"event": "known-fixed", "name": known.name, "file": str(known.path)}
                    self.output.line(
                        f"no longer fails: {known.name}: {known.what}",
                        {**event, "what": known.what, "tvm": version},
                    )
        except ExecutorError as error:  # of a cluster: what was found is reported all the same
            self.lose(str(error))
        timer.cancel()
        return tuple(fixed)

    def print_shares(self, shares: Mapping[str, Share]) -> None:
        """Print the passes of which many checks ended in a known bug."""
        if self.output.as_json:
            for name, share in shares.items():
                self.output.emit({"event": "pass", "pass": name, **dataclasses.asdict(share)})
            return
        hidden = {name: min(1.0, s.known / s.checks) for name, s in shares.items() if s.checks}
        many = sorted((n for n, part in hidden.items() if part >= MANY), key=lambda n: -hidden[n])
        if many:
            listed = ", ".join(f"{name} {hidden[name]:.0%}" for name in many)
            self.display.line(f"checks that ended in a known bug: {listed}")

    def remember(self) -> None:
        """Write confirmed findings as known bugs of the user's, with `--known-update`."""
        if not self._choice.update:
            return
        folder = (self._choice.folders or (USERS,))[0]
        for finding in {finding.id: finding for finding in self.triage.published}.values():
            if finding.confirmed:
                path = add(folder, finding, self.store.reproducer(finding))
                self.display.line(f"known from now on: {path}")

    def conclude(
        self,
        modules: int,
        checks: int,
        seconds: float,
        *,
        fail_on: Grade = Grade.C,
        compared: bool = True,
        named: Collection[str] = (),
    ) -> int:
        """Print the table and the summary; the exit code.

        Args:
            fail_on: the least grade of findings that fail.
            compared: an oracle compared what a pass has made of a module.
            named: the oracles that the user has asked by their names.
        """
        self.display.close()
        for text in self.triage.lacking:
            self.lacks(text)
        self.print_faults()
        self.print_unconfirmed()
        findings = {finding.id: finding for finding in self.triage.published}
        rows = by_row(self.store, findings.values())
        apart = [each for each in rows.values() if each[0].is_met_on_the_way]
        own = [each for each in rows.values() if not each[0].is_met_on_the_way]
        new = [each for each in own if not similar_to(each)]
        similar = [each for each in own if similar_to(each)]
        if self.output.as_json:
            for known, reports in self.expected.reports.items():
                event = {"event": "known", "name": known.name, "what": known.what}
                self.output.emit({**event, "reports": reports, "file": str(known.path)})
            summary = {
                "event": "summary",
                "modules": modules,
                "checks": checks,
                "seconds": round(seconds, 1),
                "findings": len(own),
                "similar_to_known": len(similar),
                "of_tvm_on_the_way": len(apart),
                "reports": len(findings),
                "unconfirmed": len(self.triage.unconfirmed),
                "knowns": len(self.expected.reports),
                "known_reports": self.expected.total,
                **self.workers_summary(),
            }
            self.output.emit(summary)
        else:
            console = results()
            for heading, some in (
                ("", new),
                ("Similar to known bugs:", similar),
                ("Of TVM itself, met while your passes were checked:", apart),
            ):
                if some:
                    if heading:
                        console.print(heading)
                    findings_table(console, [self._cells(*members) for members in some])
                    console.print()
            found = counted(len(own), "finding")
            if len(findings) > len(rows):
                found += f" ({counted(len(findings), 'report')})"
            remarks = [f", {len(similar)} of them similar to known bugs"] if similar else []
            remarks += [f", {len(apart)} of TVM itself"] if apart else []
            found += "".join((*remarks, ",")) if remarks else ""
            console.print(self._sentence(found, modules, checks, seconds))
        code = self.exit_code(new=any(fails(each, fail_on, named) for each in own))
        if code or compared or self.stopped:
            return code
        self.display.line("nothing was compared: this run says nothing of the passes", "yellow")
        return NOTHING_COMPARED

    def exit_code(self, *, new: bool, earlier: Sequence[str] = ()) -> int:
        """The exit code: a check that could not be made, an error of the user, new findings, or a
        report that could not be written.

        A fault of relaxfuzz with a finding that is kept does not count.

        Args:
            new: there are findings that fail.
            earlier: faults, for which a check could not be made, of sessions that this one resumes.
        """
        if self.faults or earlier or self.lost is not None:
            return 3
        if self.user_errors:
            return 2
        if new:
            return 1
        return 3 if self.unwritten else 0

    def workers_summary(self) -> dict[str, object]:
        """The part of the JSON summary about the workers."""
        workers = [
            {
                "name": member.name,
                "threads": member.slots,
                "blocks": member.blocks,
                "checks": member.checks,
                "seconds": round(member.seconds, 1),
            }
            for member in self.roster.all
        ]
        return {"workers": workers, "lost": self.lost}

    def _cells(self, shown: Finding, *others: Finding) -> Cells:
        more = f" ({counted(len(others) + 1, 'report')})" if others else ""
        path = self.store.reproducer(shown)
        return gravest((shown, *others)), shown.label, shown.oracle, shown.title + more, path

    def _sentence(self, found: str, modules: int, checks: int, seconds: float) -> str:
        rate = f", {checks / seconds:.0f} checks/s" if seconds >= 1 else ""
        text = f"{found} in {counted(modules, 'module')}, {counted(checks, 'check')}"
        text += f", {duration(seconds)}{rate}."
        if self.expected.total:
            reports, knowns = self.expected.total, len(self.expected.reports)
            text += f" {counted(reports, 'report')} of {counted(knowns, 'known bug')}."
        if unconfirmed := len(self.triage.unconfirmed):
            are = "is" if unconfirmed == 1 else "are"
            text += f" {counted(unconfirmed, 'report')} did not fail again and {are} no finding."
        if faults := len(self.faults) + len(self.triage.failed_steps):
            text += f" {counted(faults, 'fault')} of relaxfuzz, see above."
        if self.lost is not None:
            text += " The workers were lost before the end, see above."
        return text

    def _print_finding(self, finding: Finding) -> None:
        if self.output.as_json:
            self.output.emit(event_of(finding, self.store))
            return
        text = f"{finding.grade} {in_one_line(finding)}"
        if self.is_new(finding):
            self.display.line(text, GRADE_STYLES[finding.grade])
        else:
            self.display.line(f"{text}, seen before")
        for remark in finding.of_known:
            self.display.line(f"  {remark}")
        path = self.store.reproducer(finding)
        if path is not None:
            self.display.line(f"  {path}")


@contextmanager
def session(
    out: Path,
    workers: int,
    choice: Choice,
    *,
    as_json: bool,
    where: Where | None = None,
    loud: tuple[str, ...] = (),
    calls: Iterable[PassCall] = (),
    campaign: str | None = None,
    pool: LocalPool | None = None,
) -> Iterator[Session]:
    """Open the store and start the workers; both are closed at the end.

    Args:
        campaign: the name of the campaign that runs in this session. It locks the folder, because
            its runs and pending findings are its own. None: other sessions may use the folder.
        where: the cluster that campaigns run on; None: they run here.
        loud: the rules of silence that are lifted in the workers.
        calls: passes that the workers of a cluster must be able to import.
        pool: workers that are running already, and stay when the session ends.

    Raises:
        UserError: the folder cannot serve as a store, or another campaign runs there; a folder of
            known bugs is none; the cluster cannot be reached or is not fit.
        ExecutorError: the workers cannot be started.
    """
    expected = choice.load(versions()["tvm"])
    with ExitStack() as stack:
        output = Output(as_json=as_json)
        stack.enter_context(contextlib.closing(output.display))
        cluster: Executor | None = None
        if where is not None:  # before anything is written
            code = Code.of(calls)
            connection = stack.enter_context(connect(where, workers))
            from ..cluster.executor import ClusterExecutor

            output.display.progress(f"waiting for the first worker of {where}")
            cluster = stack.enter_context(
                ClusterExecutor(connection, code=code, report=output.news)
            )
        store = stack.enter_context(Store(out))
        if campaign is not None:
            stack.enter_context(alone(out, campaign))
            sweep(out)
        pool = pool or stack.enter_context(LocalPool(workers, environment=loud_environment(loud)))
        made = Session(store, pool, choice, expected, output)
        if off := made.available.off():
            output.line(made.available.sentence(), {"event": "drift", "off": off})
        stack.callback(made.triage.stop)
        if cluster is not None:
            made.executor = cluster
        stack.enter_context(made.interrupt.caught())
        yield made
