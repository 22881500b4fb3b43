"""`relaxfuzz watch`: a program of the user's, run with every pass of its builds checked."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from ...compat.release import versions
from ..findings.confirm import DEATHS
from ..findings.finding import Finding
from ..findings.known import Choice
from ..output.terminal import Cells, counted, findings_table
from ..process import death
from ..process.executor import ExecutorError, check
from ..process.jobs import Check
from ..process.protocol import Death, Died
from ..session.session import Session, session
from ..user_input.errors import UserError
from ..user_input.unnamed_pass import UnnamedPass
from .child import STACKS
from .log import CHECKED, PASSES, LoggedFinding, LoggedPass, findings, running
from .occurrence import save

TRIAGE_SECONDS = 60.0
"""For confirming and reducing findings after the program has ended."""


def run(
    program: str, args: Sequence[str], *, as_module: bool = False, semantics: bool, out: Path
) -> int:
    """Run the program to its end; the exit code.

    Args:
        program: a file, or the name of a module.
        semantics: also evaluate the modules in NumPy.

    Raises:
        UserError: there is no such program, or the folder cannot serve as a store.
        ExecutorError: the workers do not come up, which only findings need.
    """
    if not as_module and not Path(program).exists():
        raise UserError(f"no program '{program}'")
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-watch-") as name:
        folder = Path(name)
        kind = "module" if as_module else "file"
        code = _executed((str(folder), str(int(semantics)), kind, program, *args))
        found = list(findings(folder))
        # A process that ends regularly writes what it has checked.
        ended = (folder / CHECKED).is_file()
        died = [] if ended else [_death(last, code, folder) for last in running(folder)]
        new = _report(out, found, died) if found or died else 0
        print(_summary(folder, code), file=sys.stderr)
    return 1 if new else code if code >= 0 else 128 - code


def _executed(arguments: Sequence[str]) -> int:
    main = "from relaxfuzz.fuzz.checker.child import main; main()"
    with subprocess.Popen([sys.executable, "-c", main, *arguments]) as child, _forwarded(child):
        return child.wait()


@contextmanager
def _forwarded(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """SIGTERM goes to the program; Ctrl-C reaches it without that."""
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


def _report(out: Path, found: Sequence[LoggedFinding], died: Sequence[LoggedFinding]) -> int:
    """Confirm and report the findings; the number of those that are not known."""
    with session(out, 1, Choice(), as_json=False) as made:
        new = []
        for each in found:
            if made.expected.take(each.finding):
                continue
            new.append(each)
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
            findings_table(Console(stderr=True), rows)
        if made.expected.total:
            knowns = ", ".join(sorted(known.name for known in made.expected.reports))
            print(f"Known bugs of this TVM that were found: {knowns}.", file=sys.stderr)
    return len(new)


def _row(found: LoggedFinding, published: Mapping[str, Finding], made: Session) -> Cells:
    finding = published.get(found.finding.id)
    if finding is not None:
        path = made.store.reproducer(finding)
        return finding.grade, found.place, finding.oracle, finding.title, path
    kept = save(found.finding, made.store.folder)
    title = f"{kept.finding.title}\n{kept.note()}"
    return kept.finding.grade, found.place, kept.finding.oracle, title, kept.file


def _is_portable(finding: Finding) -> bool:
    """Whether another process can build the pass and the module."""
    return bool(finding.module) and not any(isinstance(call, UnnamedPass) for call in finding.calls)


def _died_again(found: LoggedFinding, made: Session) -> LoggedFinding | None:
    """The death in a process of ours, which describes it better; None if it does not die there."""
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


def _summary(folder: Path, code: int) -> str:
    how = f"ended with exit code {code}" if code >= 0 else f"died of {signal.Signals(-code).name}"
    if not (folder / PASSES).is_file():
        return f"relaxfuzz: no pass ran; the program {how}."
    file = folder / CHECKED
    if not file.is_file():
        return f"relaxfuzz: the program {how}."
    counts = json.loads(file.read_text(encoding="utf-8"))
    checked, exempt = counts["checked"], counts["exempt"]
    others = f", {exempt} more for mutation of their input only" if exempt else ""
    large = counts["too_large"]
    others += f", {large} without the values of large functions" if large else ""
    return f"relaxfuzz: {counted(checked, 'run')} of passes checked{others}; the program {how}."
