"""The shared parts of `run`, `check`, `watch` and `nightly`: store, workers, triage and report."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from rich.console import Console

from ...compat import availability
from ...compat.release import versions
from ...corpus.knowns import Known
from ...oracles.passcall import PassCall
from ..campaign.triage import Triage
from ..cluster.connection import connect
from ..findings.dedup import by_row, fails, gravest, similar_to
from ..findings.finding import Finding
from ..findings.known import Choice, Expected, add
from ..findings.listed import USERS
from ..findings.store import Store
from ..output.events import emit
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
from ..process.executor import Executor, News, limited
from ..process.local_pool import LocalPool
from ..process.targets import PassStats
from ..report.failure_text import fault
from ..system.files import sweep
from ..system.interrupt import Interrupt
from ..system.limits import cores
from ..system.lock import alone
from ..user_input.settings import Settings
from .chosen import environment_of, known_choice, timeout_of
from .finding_events import brief_event, event_of, in_one_line
from .silences import NOTHING_COMPARED

MANY = 0.05
"""Share of checks that ended in a known bug above which a pass is listed."""


class Output:
    """Lines and progress on stderr, and JSON events on stdout; any thread may use it."""

    def __init__(self, *, as_json: bool) -> None:
        """
        Args:
            as_json: print results as JSON events, one a line.
        """
        self.as_json = as_json
        self.display: Display = display(Console(stderr=True))
        self._lock = threading.Lock()

    def line(self, text: str, event: Mapping[str, object] | None = None, style: str = "") -> None:
        """Print a line for people, or the event instead if JSON is requested and there is one."""
        if self.as_json and event is not None:
            self.emit(event)
        else:
            self.display.line(text, style)

    def emit(self, event: Mapping[str, object]) -> None:
        """Print one line of JSON."""
        with self._lock:
            emit(event)

    def news(self, news: News) -> None:
        """Print a change among the workers of a cluster."""
        self.line(news.text, {"event": "cluster", **dataclasses.asdict(news)})


class Session:
    """One run of a command."""

    def __init__(
        self,
        store: Store,
        pool: LocalPool,
        choice: Choice,
        expected: Expected,
        output: Output,
        timeout: float | None = None,
    ) -> None:
        """
        Args:
            timeout: the time limit of a step of a check, in seconds; None: the usual one.
        """
        self.store = store
        self.pool = pool
        """The processes on this machine that confirm and reduce."""
        self.timeout = timeout
        self.executor: Executor = limited(pool, timeout)
        """The executor that runs checks."""
        self.lost: str | None = None
        """Reason why the workers of the campaign could not be kept alive."""
        self.expected = expected
        self.faults: list[str] = []
        """Errors of the harness itself that prevented a check."""
        self.unwritten: list[str] = []
        """Errors of the harness itself that prevented a report."""
        self.user_errors: dict[str, None] = {}
        """Reasons why passes of the user can no longer be loaded."""
        self.versions = versions()
        self.available = availability.current()
        self.interrupt = Interrupt()
        self.output = output
        self.display = output.display
        self.triage = Triage(store, self.executor, self._print_finding, expected=expected)
        self.is_new: Callable[[Finding], bool] = lambda finding: True
        """Return whether no earlier run in this folder has reported the bug."""
        self._choice = choice
        self._lacking: set[str] = set()

    @property
    def stopped(self) -> bool:
        """True if nothing new may start, because the user wants to stop or the workers are gone."""
        return self.interrupt.stop.is_set() or self.lost is not None

    def fault(self, text: str) -> None:
        """Print an error of the harness that prevented a check, and continue."""
        self.faults.append(text)
        self._print_fault(text)

    def no_report(self, text: str) -> None:
        """Print an error of the harness that prevented a report."""
        self.unwritten.append(text)
        self._print_fault(text)

    def _print_fault(self, text: str) -> None:
        self.display.line(f"fault of relaxfuzz: {text}", style="bold red")
        if self.output.as_json:
            self.output.emit({"event": "fault", "text": text})

    def print_faults(self) -> None:
        """Print the failures of the harness itself in the triage."""
        for text in self.triage.steps.unchecked:
            self.fault(text)
        for finding, text in self.triage.steps.failed:
            self.display.line(fault(finding, text, self.store.folder), style="bold red")
            if self.output.as_json:
                self.output.emit({"event": "fault", "finding": finding.id, "text": text})

    def _print_pending(self) -> None:
        """Name the findings for which time ran out; a run with more time resumes them."""
        for finding in self.triage.unsettled():
            text = f"no time to confirm: {in_one_line(finding)}"
            self.output.line(text, brief_event("pending", finding))

    def print_unconfirmed(self) -> None:
        """Name findings that did not fail again, by chance or because of earlier modules."""
        for finding in self.triage.unconfirmed:
            module = str(self.store.keep_module(finding))
            text = f"did not fail again: {in_one_line(finding)}, {module}"
            self.output.line(text, {**brief_event("unconfirmed", finding), "module": module})

    def lacks(self, reason: str) -> None:
        """Print, once, something that the installed TVM lacks; the session continues."""
        if reason not in self._lacking:
            self._lacking.add(reason)
            self.output.line(f"left out: {reason}", {"event": "drift", "reason": reason})

    def user_error(self, text: str) -> None:
        """Print, once, the reason why a user's pass can no longer be loaded."""
        if text not in self.user_errors:
            self.user_errors[text] = None
            self.display.line(text, style="bold red")

    def lose(self, text: str) -> None:
        """Print why the workers of the campaign are gone; the session ends in order."""
        self.lost = text
        self.display.line(text, style="bold red")

    def drain(self, seconds: float, stuck: float | None = None) -> None:
        """Let the triage finish, show its progress, and name the findings that it did not confirm.

        Args:
            seconds: time after which reduction stops.
            stuck: seconds beyond that after which a step stays pending; see `Triage.drain`.
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
        for text in self.triage.steps.user_errors:
            self.user_error(text)

    def print_shares(self, stats: Mapping[str, PassStats], known: Mapping[str, int]) -> None:
        """Print the passes on which many checks ended in a known bug.

        Args:
            known: the number of those checks by item of the schedule.
        """
        if self.output.as_json:
            for name, each in stats.items():
                event = {
                    "event": "pass",
                    "pass": name,
                    "checks": each.checks,
                    "known": known.get(name, 0),
                    "changed": each.changed,
                    "inapplicable": each.inapplicable,
                    "did": dict(each.did),
                }
                self.output.emit(event)
            return
        part = {n: min(1.0, known.get(n, 0) / s.checks) for n, s in stats.items() if s.checks}
        many = sorted((n for n in part if part[n] >= MANY), key=lambda n: -part[n])
        if many:
            listed = ", ".join(f"{name} {part[name]:.0%}" for name in many)
            self.display.line(f"checks that ended in a known bug: {listed}")

    def remember(self) -> None:
        """Write confirmed findings as known bugs of the user, with `--known-update`."""
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
        fail_on: str | None = None,
        compared: bool = True,
        named: Collection[str] = (),
        knowns: Mapping[Known, Mapping[str, object]] = {},
    ) -> int:
        """Print the table and the summary; return the exit code.

        Args:
            fail_on: the grades and effects of findings that fail; None: see `dedup.fails`.
            compared: an oracle compared the result of a pass with a module. A finding or a known
                bug is an answer, too.
            named: the oracles that the user has requested by name.
            knowns: further fields of the JSON events of known bugs.
        """
        self.display.close()
        for text in self.triage.steps.lacking:
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
                event: dict[str, object] = {"event": "known", "name": known.name}
                event["what"] = known.what
                event |= {"reports": reports, "file": str(known.path)}
                self.output.emit({**event, **knowns.get(known, {})})
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
                "lost": self.lost,
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
        # A report that there was no time to confirm was nevertheless seen.
        unsettled = bool(self.triage.unsettled()) and not self.stopped
        new_ones = unsettled or any(fails(each, fail_on, named) for each in own)
        answered = compared or bool(rows or self.expected.reports)
        return self.exit_code(new=new_ones, compared=answered)

    def exit_code(self, *, new: bool, earlier: Sequence[str] = (), compared: bool = True) -> int:
        """The exit code for a failed check, a user error, new findings, an unwritable report, or a
        run without a comparison.

        A fault of relaxfuzz on a finding that is kept does not count.

        Args:
            new: there are findings that fail.
            earlier: faults that prevented a check, in sessions that this one resumes.
            compared: see `conclude`.
        """
        if self.faults or earlier or self.lost is not None:
            return 3
        if self.user_errors:
            return 2
        if new:
            return 1
        if self.unwritten:
            return 3
        if not compared:
            self.display.line("nothing was compared: this run says nothing of the passes", "yellow")
        return 0 if compared else NOTHING_COMPARED

    def _cells(self, shown: Finding, *others: Finding) -> Cells:
        more = f" ({counted(len(others) + 1, 'report')})" if others else ""
        path = self.store.reproducer(shown)
        worst = gravest((shown, *others))
        title = shown.title + more
        return worst.weight.rank, worst.effect, shown.label, shown.oracle, title, path

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
        if faults := len(self.faults) + len(self.triage.steps.failed):
            text += f" {counted(faults, 'fault')} of relaxfuzz, see above."
        if self.lost is not None:
            text += " The workers were lost before the end, see above."
        return text

    def _print_finding(self, finding: Finding) -> None:
        if self.output.as_json:
            self.output.emit(event_of(finding, self.store))
            return
        text = f"{finding.grade} {finding.effect}: {in_one_line(finding)}"
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
    given: Settings,
    *,
    calls: Iterable[PassCall] = (),
    campaign: str | None = None,
    pool: LocalPool | None = None,
) -> Iterator[Session]:
    """Open the store and start the workers; both are closed at the end.

    Args:
        campaign: the name of the campaign that runs in this session. It locks the folder, since it
            owns its runs and pending findings. None: other sessions may use the folder.
        calls: passes that the workers of a cluster must be able to import.
        pool: workers that are already running and outlive the session.

    Raises:
        UserError: the folder cannot serve as a store, or another campaign runs there; a folder of
            known bugs does not exist; the cluster cannot be reached or is not fit; a rule of
            silence is unknown.
        ExecutorError: the workers cannot be started.
    """
    environment, workers = environment_of(given), given.workers or cores()
    timeout = timeout_of(given)
    choice = known_choice(given)
    expected = choice.load(versions()["tvm"])
    with ExitStack() as stack:
        output = Output(as_json=given.json)
        stack.enter_context(contextlib.closing(output.display))
        cluster: Executor | None = None
        if given.scheduler is not None:  # before anything is written
            connection = stack.enter_context(connect(given.scheduler))
            from ..cluster.executor import ClusterExecutor

            output.display.progress(f"waiting for the first worker of {given.scheduler}")
            cluster = stack.enter_context(
                ClusterExecutor(connection, calls=calls, report=output.news)
            )
        store = stack.enter_context(Store(given.out))
        if campaign is not None:
            stack.enter_context(alone(given.out, campaign))
            sweep(given.out)
        pool = pool or stack.enter_context(LocalPool(workers, environment=environment))
        made = Session(store, pool, choice, expected, output, timeout)
        if off := made.available.off():
            output.line(made.available.sentence(), {"event": "drift", "off": off})
        elif not made.available.build:
            output.display.line(
                "first use of this build of TVM, and --budget too short to try what works on it: "
                "passes and operators that turn out not to work are left out"
            )
        stack.callback(made.triage.stop)
        if cluster is not None:
            made.executor = limited(cluster, timeout)
        stack.enter_context(made.interrupt.caught())
        yield made
