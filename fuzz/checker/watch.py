"""`relaxfuzz watch`: runs a user's program and checks every pass of its builds."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from ...compat.release import versions
from ..findings.confirm import DEATHS
from ..findings.dedup import fails
from ..findings.finding import Finding
from ..jobs.asking import check
from ..jobs.jobs import Check
from ..output.readable import sentence
from ..output.terminal import Cells, counted, findings_table
from ..process import death
from ..process.executor import ExecutorError
from ..process.protocol import Death, Died
from ..session.chosen import timeout_of
from ..session.met import met
from ..session.session import Session, session
from ..session.silences import NOTHING_COMPARED
from ..system.errors import UserError
from ..system.supervised import Supervised
from ..user_input.settings import Settings
from ..user_input.unnamed_pass import UnnamedPass
from .child import STACKS
from .instrument import STEP
from .log import CHECKED, PASSES, LoggedFinding, LoggedPass, findings, running
from .occurrence import save

STOPPED = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
"""Exit codes of a program that was stopped from outside; no pass causes these."""

NAMED = 5
"""Most passes to name as passes whose values were not compared."""

TRIAGE_SECONDS = 60.0
"""Seconds for confirming and reducing findings after the program has ended."""


def run(program: str, args: Sequence[str], given: Settings, *, as_module: bool = False) -> int:
    """Run the program to its end; return the exit code.

    Args:
        program: a file, or the name of a module.

    Raises:
        UserError: there is no such program, or the folder cannot serve as a store.
        ExecutorError: the workers do not start; only findings need them.
    """
    if not as_module and not Path(program).exists():
        raise UserError(f"no program '{program}'")
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-watch-") as name:
        folder = Path(name)
        kind = "module" if as_module else "file"
        seconds = str(timeout_of(given) or STEP)
        code = _executed((name, str(int(given.semantics)), seconds, kind, program, *args))
        found = list(findings(folder))
        # A process that ends normally writes the counts of its checks.
        ended = (folder / CHECKED).is_file()
        killed = ended or code in STOPPED
        died = [] if killed else [_death(last, code, folder) for last in running(folder)]
        new = _report(given, found, died) if found or died else 0
        print(_summary(folder, code, semantics=given.semantics), file=sys.stderr)
        if not new and code == 0 and not found and not _checked(folder):
            return NOTHING_COMPARED
    return 1 if new else code if code >= 0 else 128 - code


def _executed(arguments: Sequence[str]) -> int:
    main = "from relaxfuzz.fuzz.checker.child import main; main()"
    with Supervised([sys.executable, "-c", main, *arguments]) as child, _forwarded(child):
        return child.wait()


@contextmanager
def _forwarded(child: Supervised) -> Iterator[None]:
    """Forward SIGTERM to the program, which receives Ctrl-C anyway."""
    handlers = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda n, frame: child.send_signal(n)),
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _death(last: LoggedPass, code: int, folder: Path) -> LoggedFinding:
    kinds = {-signal.SIGSEGV: Death.SEGFAULT, -signal.SIGFPE: Death.ARITHMETIC}
    kinds |= {-signal.SIGABRT: Death.ABORT}
    kind = kinds.get(code, Death.SIGNAL if code < 0 else Death.EXIT)
    died = Died(0, kind, code, None, (folder / STACKS).read_text(encoding="utf-8"))
    violation = dataclasses.replace(death.violation(died), pass_name=last.call.name)
    finding = Finding(
        violation=violation, module=last.module, versions=versions(), calls=(last.call,)
    )
    return LoggedFinding(finding, last.place)


def _report(given: Settings, found: Sequence[LoggedFinding], died: Sequence[LoggedFinding]) -> int:
    """Confirm and report the findings; return the number of new ones that fail."""
    with session(dataclasses.replace(given, workers=1)) as made:
        unknown = [each for each in found if not made.expected.take(each.finding)]
        new = [each for each in unknown if not each.caught]
        for each in new:
            if _is_portable(each.finding):
                made.triage.report(each.finding)
        for each in died:
            print(f"{each.place}: {each.finding.title}", file=sys.stderr)
            again = _died_again(each, made)
            if again is None or not made.triage.report(again.finding):
                new.append(again or each)
        made.drain(TRIAGE_SECONDS)
        published = {finding.id: finding for finding in made.triage.published}
        rows = [_row(each, published, made) for each in new]
        made.display.close()
        if rows:
            findings_table(Console(stderr=True), [cells for _, cells in rows])
        if caught := [each for each in unknown if each.caught]:
            print("Raised by passes, and caught by the program:", file=sys.stderr)
            for each in caught:
                print(f"  {sentence(f'{each.place}: {each.finding.title}')}", file=sys.stderr)
        if made.expected.total:
            print("Known bugs of this TVM that passes of the build show:", file=sys.stderr)
            places = {each.finding.id: each.place for each in (*found, *died)}
            for bug in met(made.expected, (), (), places):
                print("\n".join(f"  {line}" for line in bug.lines), file=sys.stderr)
    return sum(fails([finding], None) for finding, _ in rows)


def _row(
    found: LoggedFinding, published: Mapping[str, Finding], made: Session
) -> tuple[Finding, Cells]:
    finding = published.get(found.finding.id)
    if finding is not None:
        path = made.store.reproducer(finding)
        return finding, _cells(finding, found.place, finding.title, path)
    kept = save(found.finding, made.store.folder)
    finding, title = kept.finding, kept.finding.title
    if kept.lack:
        title = f"{title}. {kept.lack}"
    return finding, _cells(finding, found.place, title, kept.file)


def _cells(finding: Finding, place: str, title: str, path: Path | None) -> Cells:
    return finding.weight.rank, finding.effect, place, finding.oracle, title, path


def _is_portable(finding: Finding) -> bool:
    """Return whether another process can build the pass and the module."""
    return bool(finding.module) and not any(isinstance(call, UnnamedPass) for call in finding.calls)


def _died_again(found: LoggedFinding, made: Session) -> LoggedFinding | None:
    """The death in a process of ours, which describes it better; None if the process survives."""
    if not _is_portable(found.finding):
        return None
    job = Check(module=found.finding.module, calls=found.finding.calls)
    try:
        violations = check(made.pool, job)
    except (ExecutorError, UserError):  # the pass cannot be imported there
        return None
    for violation in violations:
        if violation.oracle in DEATHS:
            finding = Finding(
                violation=violation, module=job.module, versions=made.versions, calls=job.calls
            )
            return LoggedFinding(finding, found.place)
    return None


def _checked(folder: Path) -> bool:
    """Return whether a pass was checked, even if only for changes of its input."""
    file = folder / CHECKED
    counts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return bool(counts.get("checked") or counts.get("exempt"))


def _summary(folder: Path, code: int, *, semantics: bool) -> str:
    how = f"ended with exit code {code}" if code >= 0 else f"died of {signal.Signals(-code).name}"
    if not (folder / PASSES).is_file():
        return f"relaxfuzz: no pass ran; the program {how}."
    file = folder / CHECKED
    if not file.is_file():
        return f"relaxfuzz: the program {how}."
    counts = json.loads(file.read_text(encoding="utf-8"))
    checked, exempt = counts["checked"], counts["exempt"]
    others = f", {exempt} more for mutation of their input only" if exempt else ""
    text = f"relaxfuzz: {counted(checked, 'run')} of passes checked{others}; the program {how}."
    if uncompared := Counter(counts["uncompared"]):
        names = ", ".join(f"{name} {count}" for name, count in uncompared.most_common(NAMED))
        more = f" and {len(uncompared) - NAMED} more passes" if len(uncompared) > NAMED else ""
        hint = "" if semantics else " (--semantics takes more time)"
        text += (
            "\nrelaxfuzz: NumPy would take too long to compare all values of "
            f"{counted(uncompared.total(), 'run')}: {names}{more}{hint}."
        )
    return text
