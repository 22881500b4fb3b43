"""`relaxfuzz watch`: a program of the user's, with every pass of its builds checked."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...generators.tvm_api import versions
from ..checker.child import LAST_WORDS
from ..checker.log import CHECKED, PASSES, LoggedFinding, LoggedPass, findings, running
from ..checker.occurrence import save
from ..findings.confirm import DEATHS
from ..findings.finding import Finding
from ..findings.known import Choice
from ..output.terminal import counted, findings_table
from ..process import death
from ..process.executor import ExecutorError, check
from ..process.jobs import Check
from ..process.protocol import Death, Died
from ..session.session import Session, session
from ..user_input.mistake import Mistake
from ..user_input.unnamed_pass import Held

TRIAGE_SECONDS = 60.0
"""For seeing again and reducing what was found, when the program is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `watch`."""

    name: str
    as_module: bool
    args: tuple[str, ...]
    semantics: bool
    out: Path


def run(request: Request) -> int:
    """Run the program to its end; the exit code.

    Raises:
        Mistake: there is no such program, or the folder cannot serve as a store.
        ExecutorError: the workers do not come up, which only findings need.
    """
    if not request.as_module and not Path(request.name).exists():
        raise Mistake(f"no program '{request.name}'")
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-watch-") as name:
        folder = Path(name)
        code = _executed(request, folder)
        told = list(findings(folder))
        # A process that comes to its end writes what it has checked.
        ended = (folder / CHECKED).is_file()
        died = [] if ended else [_death(last, code, folder) for last in running(folder)]
        found = _report(request.out, told, died) if told or died else 0
        _say(_summary(folder, code))
    return 1 if found else code if code >= 0 else 128 - code


def _executed(request: Request, folder: Path) -> int:
    """The exit code of the program, negative for a signal."""
    command = [
        sys.executable,
        "-c",
        "from relaxfuzz.fuzz.checker.child import main; main()",
        str(folder),
        str(int(request.semantics)),
        "module" if request.as_module else "file",
        request.name,
        *request.args,
    ]
    with subprocess.Popen(command) as child, _passed_on(child):
        return child.wait()


@contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """What is to end us ends the program; Ctrl-C reaches it anyway."""
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
    """The death of the program as the fault of the pass that was running."""
    kinds = {-signal.SIGSEGV: Death.SEGFAULT, -signal.SIGFPE: Death.ARITHMETIC}
    kinds |= {-signal.SIGABRT: Death.ABORT}
    kind = kinds.get(code, Death.SIGNAL if code < 0 else Death.EXIT)
    words = (folder / LAST_WORDS).read_text(encoding="utf-8")
    died = Died(0, kind, code, None, words)
    violation = dataclasses.replace(death.violation(died), pass_name=last.call.name)
    finding = Finding.of(violation, module=last.module, versions=versions(), calls=(last.call,))
    return LoggedFinding(finding, last.place)


def _report(out: Path, told: Sequence[LoggedFinding], died: Sequence[LoggedFinding]) -> int:
    """See all that was found again, by itself; tell it; how many bugs are new."""
    with session(out, 1, Choice(), as_json=False) as made:
        new = []
        for each in told:
            if made.expected.take(each.finding):
                continue
            new.append(each)
            if _can_be_made(each.finding):
                made.triage.report(each.finding)
        for each in died:
            _say(f"{each.place}: {each.finding.title}")
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
            _say(f"Known bugs of this TVM, which are no news: {knowns}.")
    return len(new)


def _row(
    told: LoggedFinding, published: Mapping[str, Finding], made: Session
) -> tuple[str, str, str, Path | None]:
    """What the table says of it: where, which oracle, what, and the file."""
    finding = published.get(told.finding.id)
    if finding is not None:
        return told.place, finding.oracle, finding.title, made.store.reproducer(finding)
    kept = save(told.finding, made.store.folder)
    return told.place, kept.finding.oracle, f"{kept.finding.title}\n{kept.note()}", kept.file


def _can_be_made(finding: Finding) -> bool:
    """The pass and the module can be had in another process."""
    return bool(finding.module) and not any(isinstance(call, Held) for call in finding.calls)


def _died_again(told: LoggedFinding, made: Session) -> LoggedFinding | None:
    """The death in a process of its own, where more is known of it."""
    if not _can_be_made(told.finding):
        return None
    job = Check(module=told.finding.module, calls=told.finding.calls)
    try:
        violations = check(made.pool, job)
    except (ExecutorError, Mistake):  # the pass cannot be imported there
        return None
    for violation in violations:
        if violation.oracle in DEATHS:
            finding = Finding.of(
                violation, module=job.module, versions=made.versions, calls=job.calls
            )
            return LoggedFinding(finding, told.place)
    return None


def _summary(folder: Path, code: int) -> str:
    how = f"ended with exit code {code}" if code >= 0 else f"died of {_signal(code)}"
    if not (folder / PASSES).is_file():
        return f"relaxfuzz: no pass ran; the program {how}."
    file = folder / CHECKED
    if not file.is_file():
        return f"relaxfuzz: the program {how}."
    counts = json.loads(file.read_text(encoding="utf-8"))
    checked, exempt = counts["checked"], counts["exempt"]
    others = f", of {exempt} others only that they leave their input alone" if exempt else ""
    return f"relaxfuzz: {counted(checked, 'run')} of passes checked{others}; the program {how}."


def _signal(code: int) -> str:
    return signal.Signals(-code).name


def _say(text: str) -> None:
    print(text, file=sys.stderr)
