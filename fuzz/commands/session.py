"""What `run` and `check` share: the store, the workers, the triage, and what the user is told."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console

from ...corpus.knowns import Known
from ...generators.tvm_api import versions
from ...oracles.passcall import PassCall
from ...oracles.violation import KEY_FORMAT
from ..campaign.members import Roster
from ..campaign.triage import Triage
from ..cluster.connection import connect
from ..cluster.scripts import ClusterScripts
from ..cluster.shipment import Shipment
from ..cluster.where import Where
from ..findings.dedup import by_row
from ..findings.finding import Finding
from ..findings.known import (
    NO_LONGER,
    USERS,
    Choice,
    Expected,
    Share,
    add,
    is_certain,
    prune,
    verify,
)
from ..findings.store import Store
from ..output.terminal import counted, duration, findings_table
from ..process.executor import Executor, ExecutorError
from ..process.local_pool import LocalPool
from ..reproducer import Here, Scripts
from ..system.files import sweep
from ..system.lock import alone
from .voice import Voice

MANY = 0.05
"""A pass is named whose checks ended in a known as often."""


class Interrupt:
    """Ctrl-C, counted: the first asks to stop, a second one to stop at once."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.now = threading.Event()

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if signum == signal.SIGHUP:
            _let_go_of_terminal()
        (self.now if self.stop.is_set() else self.stop).set()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP come here; afterwards they go where they went before."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup(1) has it
            numbers.append(signal.SIGHUP)
        handlers = {n: signal.signal(n, self) for n in numbers}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _let_go_of_terminal() -> None:
    """What is written to a terminal that is gone fails; what is written to a file goes on."""
    for end in (1, 2):
        if stat.S_ISCHR(os.fstat(end).st_mode) and not os.isatty(end):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, end)
            os.close(null)


class Session:
    """One run of `run` or `check`."""

    def __init__(
        self, store: Store, pool: LocalPool, choice: Choice, expected: Expected, voice: Voice
    ) -> None:
        self.store = store
        self.pool = pool
        """The processes of this machine that confirm and reduce."""
        self.executor: Executor = pool
        """What campaigns run on."""
        self.scripts: Scripts = Here(pool.workers)
        """What executes the reproducers of old bugs."""
        self.lost: str | None = None
        """Why the workers of the campaign are gone for good."""
        self.roster = Roster()
        self.expected = expected
        self._choice = choice
        self.faults: list[str] = []
        self.mistakes: dict[str, None] = {}
        """What passes of the user's cannot be had any more for."""
        self.versions = versions()
        self.interrupt = Interrupt()
        self._json = voice.as_json
        self._print = voice.event
        self.display = voice.display
        self.triage = Triage(store, pool, self._tell)
        self.on_told: Callable[[Finding], None] = lambda finding: None
        """Called with each bug that the user is told, in a thread of the triage."""
        self.is_new: Callable[[Finding], bool] = lambda finding: True
        """Whether no other run in this folder has told a bug."""

    @property
    def stopped(self) -> bool:
        """Nothing new is begun: the user said so, or the workers are gone."""
        return self.interrupt.stop.is_set() or self.lost is not None

    def take_up(self) -> None:
        """Go on with what former sessions in this folder found and did not come to the end with.

        What was found by another TVM waits for that.
        """
        for finding in self.store.pending():
            if finding.versions["tvm"] != self.versions["tvm"]:
                continue
            if self.expected.of(finding):  # since then
                self.store.settle(finding.id)
            else:
                self.triage.add(finding)

    def report(self, finding: Finding) -> bool:
        """Take what an oracle said: what is known is counted, what is new goes to the triage.

        Returns:
            It is known.
        """
        known = self.expected.take(finding)
        if not known:
            self.triage.add(finding)
        return known

    def fault(self, text: str) -> None:
        """The harness failed: say it at once, go on."""
        self.faults.append(text)
        self.display.line(f"fault of relaxfuzz: {text}", style="bold red")

    def mistake(self, text: str) -> None:
        """A pass of the user's, which could be had before, cannot be any more: say it once."""
        if text not in self.mistakes:
            self.mistakes[text] = None
            self.display.line(text, style="bold red")

    def lose(self, text: str) -> None:
        """The workers are gone for good: say it at once, end well."""
        self.lost = text
        self.display.line(text, style="bold red")

    def drain(self, seconds: float) -> None:
        """Let the triage finish; say how far it is."""
        if self.interrupt.stop.is_set():
            seconds = 0.0
        if self.triage.pending:
            more = f" and reduce, for up to {duration(seconds)} more" if seconds else ""
            self.display.line(f"{counted(self.triage.pending, 'finding')} to confirm{more}")

        def tick() -> None:
            self.display.progress(
                f"{counted(self.triage.pending, 'finding')} to confirm and reduce, "
                f"{len(self.triage.published)} done"
            )
            if self.interrupt.now.is_set():
                raise KeyboardInterrupt
            if self.interrupt.stop.is_set():
                self.triage.hurry()

        try:
            self.triage.drain(seconds, tick)
        except KeyboardInterrupt:
            self.display.line(f"interrupted: {self.triage.pending} findings were not confirmed")
        for text in self.triage.mistakes:
            self.mistake(text)

    def review(self, passes: Sequence[str] | None, seconds: float) -> tuple[str, ...]:
        """Say which knowns of these passes (None: of all) do not fail any more; their names.

        Those that were met do. The others are asked by their reproducers, as far as the time goes,
        unless it is known that they fail on this very TVM.
        """
        fixed: list[str] = []
        version = self.expected.version
        todo = [
            known
            for known in self.expected.unseen(passes)
            if self._choice.prune or not is_certain(known, version)
        ]
        stop = self.interrupt.stop
        timer = threading.Timer(seconds, stop.set)
        timer.daemon = True
        timer.start()
        try:
            for done, (known, outcome) in enumerate(verify(todo, self.scripts, stop), 1):
                self.display.progress(f"{done} of {len(todo)} knowns seen again  {known.name}")
                if outcome.status in NO_LONGER:
                    fixed.append(known.name)
                    self._tell_fixed(known)
        except ExecutorError as error:  # those of a cluster: what was found is told all the same
            self.lose(str(error))
        timer.cancel()
        return tuple(fixed)

    def _tell_fixed(self, known: Known) -> None:
        version, said = self.expected.version, ""
        if self._choice.prune and known in self.expected.own:
            said = f" ({prune(known, version)})"
        if self._json:
            event = {"event": "known-fixed", "name": known.name, "file": str(known.path)}
            self._print({**event, "what": known.what, "tvm": version})
        else:
            self.display.line(f"no longer fails: {known.name}: {known.what}{said}")

    def tell_shares(self, shares: Mapping[str, Share]) -> None:
        """Say of which passes many checks show nothing but what is known."""
        if self._json:
            for name, share in shares.items():
                self._print({"event": "pass", "pass": name, **dataclasses.asdict(share)})
            return
        hidden = {name: min(1.0, s.known / s.checks) for name, s in shares.items() if s.checks}
        many = sorted((n for n, part in hidden.items() if part >= MANY), key=lambda n: -hidden[n])
        if many:
            told = ", ".join(f"{name} {hidden[name]:.0%}" for name in many)
            self.display.line(f"checks that ended in a known: {told}")

    def remember(self) -> None:
        """Write what was found and confirmed as knowns of the user's, if that was asked for."""
        if not self._choice.update:
            return
        folder = (self._choice.folders or (USERS,))[0]
        for finding in {finding.id: finding for finding in self.triage.published}.values():
            if finding.confirmed:
                path = add(folder, finding, self.store.reproducer(finding))
                self.display.line(f"known from now on: {path}")

    def conclude(self, modules: int, checks: int, seconds: float) -> int:
        """The table, the summary, the exit code."""
        self.display.close()
        for text in self.triage.faults:
            self.fault(text)
        findings = {finding.id: finding for finding in self.triage.published}
        rows = by_row(self.store, findings.values())
        if self._json:
            for known, reports in self.expected.reports.items():
                event = {"event": "known", "name": known.name, "what": known.what}
                self._print({**event, "reports": reports, "file": str(known.path)})
            summary = {
                "event": "summary",
                "modules": modules,
                "checks": checks,
                "seconds": round(seconds, 1),
                "findings": len(rows),
                "reports": len(findings),
                "knowns": len(self.expected.reports),
                "known_reports": self.expected.total,
                **self.ending(),
            }
            self._print(summary)
        else:
            console = Console(width=None if sys.stdout.isatty() else 160)
            if rows:
                findings_table(console, [self._cells(*members) for members in rows.values()])
                console.print()
            found = counted(len(rows), "finding")
            if len(findings) > len(rows):
                found += f" ({counted(len(findings), 'report')})"
            console.print(self._sentence(found, modules, checks, seconds))
        if self.faults or self.lost is not None:
            return 3
        if self.mistakes:
            return 2
        return 1 if rows else 0

    def ending(self) -> dict[str, object]:
        """What summaries tell of the workers."""
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

    def _cells(self, shown: Finding, *others: Finding) -> tuple[str, str, str, Path | None]:
        """A row of the table: one finding stands for all of them."""
        more = f" ({counted(len(others) + 1, 'report')})" if others else ""
        return shown.pass_name, shown.oracle, shown.title + more, self.store.reproducer(shown)

    def _sentence(self, found: str, modules: int, checks: int, seconds: float) -> str:
        rate = f", {checks / seconds:.0f} checks/s" if seconds >= 1 else ""
        text = f"{found} in {counted(modules, 'module')}, {counted(checks, 'check')}"
        text += f", {duration(seconds)}{rate}."
        if self.expected.total:
            reports, knowns = self.expected.total, len(self.expected.reports)
            text += f" Known: {counted(reports, 'report')} of {counted(knowns, 'known')}."
        if unconfirmed := self.triage.unconfirmed:
            are = "is" if unconfirmed == 1 else "are"
            text += f" {counted(unconfirmed, 'report')} did not come out again and {are} not shown."
        if self.faults:
            text += f" {counted(len(self.faults), 'fault')} of relaxfuzz, see above."
        if self.lost is not None:
            text += " The workers were lost before the end, see above."
        return text

    def _tell(self, finding: Finding) -> None:
        self.on_told(finding)
        path = self.store.reproducer(finding)
        if self._json:
            self._print(event_of(finding, self.store))
        else:
            told = f"{finding.pass_name}: {finding.title} ({finding.oracle})"
            if self.is_new(finding):
                self.display.line(told, "bold")
            else:
                self.display.line(f"{told}, seen before")
            if path is not None:
                self.display.line(f"  {path}")


def event_of(finding: Finding, store: Store) -> dict[str, object]:
    """A finding as the JSON protocol tells it."""
    reproducer = store.reproducer(finding)
    return {
        "event": "finding",
        "id": finding.id,
        "row": store.rows.of(finding.id) or finding.id,
        "key": finding.full_key,
        "place": finding.violation.place,
        "key_format": KEY_FORMAT,
        "pass": finding.pass_name,
        "oracle": finding.oracle,
        "title": finding.title,
        "reproducer": None if reproducer is None else str(reproducer),
        "module": str(store.module(finding)),
        "confirmed": finding.confirmed,
        "tvm": finding.versions["tvm"],
    }


@contextmanager
def session(
    out: Path,
    workers: int,
    choice: Choice,
    *,
    as_json: bool,
    where: Where | None = None,
    calls: Iterable[PassCall] = (),
    corpora: Iterable[Path] = (),
    campaign: str | None = None,
    pool: LocalPool | None = None,
) -> Iterator[Session]:
    """Open the store and start the workers; nothing is left behind at the end.

    Args:
        campaign: what to call the campaign that goes on here: it has the folder for itself, as its
            runs and what is pending are its own. None: there is none, and others may work there.
        where: the cluster that campaigns run on; None: they run here.
        calls: passes that the workers of a cluster have to find.
        corpora: reproducers, or folders of them, that they have to find besides those of knowns.
        pool: workers that have been started, and go on when the session is over.

    Raises:
        Mistake: the folder cannot serve as a store, or somebody else's campaign goes on there; or
            another one holds no knowns; or the cluster is not there, or not fit.
        ExecutorError: the workers do not come up.
    """
    expected = choice.load(versions()["tvm"])
    with ExitStack() as stack:
        voice = Voice(as_json=as_json)
        stack.enter_context(contextlib.closing(voice.display))
        cluster = None
        if where is not None:  # before anything is written
            known = (each.reproducer for each in expected.knowns if each.reproducer is not None)
            shipment = Shipment.of(calls, [*corpora, *known])
            cluster = stack.enter_context(_cluster(where, workers, shipment, voice))
        store = stack.enter_context(Store(out))
        if campaign is not None:
            stack.enter_context(alone(out, campaign))
            sweep(out)
        pool = pool or stack.enter_context(LocalPool(workers))
        made = Session(store, pool, choice, expected, voice)
        stack.callback(made.triage.stop)
        if cluster is not None:
            made.executor, made.scripts = cluster
        stack.enter_context(made.interrupt.caught())
        yield made


@contextmanager
def _cluster(
    where: Where, workers: int, shipment: Shipment, voice: Voice
) -> Iterator[tuple[Executor, Scripts]]:
    """The workers of a cluster, of which the first has come.

    Raises:
        Mistake: see `session`.
    """
    with connect(where, workers) as connection:
        from ..cluster.executor import ClusterExecutor

        voice.display.progress(f"waiting for the first worker of {where}")
        with ClusterExecutor(connection, shipment=shipment, tell=voice.news) as executor:
            yield executor, ClusterScripts(executor, shipment)
