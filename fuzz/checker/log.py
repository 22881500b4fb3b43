"""The log of a watched process, which survives its death: findings and running passes.

It is a folder. `findings.jsonl` has a line for each finding. `passes` has a line for each start and
end of a pass, and is emptied when none runs. A file has the current module of each thread.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...oracles.passcall import PassCall
from ...oracles.violation import Mark, mark_of
from ..findings.finding import Finding
from ..user_input.unnamed_pass import UnnamedPass
from . import NUMBER, UNCAUGHT
from .calls import inferred_call
from .instrument import Observer
from .occurrence import Occurrence
from .running import Running

FINDINGS = "findings.jsonl"
PASSES = "passes"
CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class LoggedFinding:
    """A finding in a watched process."""

    finding: Finding
    place: str
    """The pass, and the passes around it."""
    caught: bool = False
    """True if the program caught the pass's exception."""


@dataclass(frozen=True, slots=True)
class LoggedPass:
    """A pass that was running when the process died."""

    name: str
    place: str
    call: PassCall
    module: str
    """The text of its input; empty if that was not logged."""


class Log:
    """The writer of the log in the watched process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._passes = os.open(folder / PASSES, flags)
        self._findings = os.open(folder / FINDINGS, flags)
        self._lock = threading.Lock()
        self._running = 0
        self._modules = 0
        self._pid = os.getpid()

    def begins(self, name: str, place: str, call: PassCall, text: str) -> None:
        """Log that a pass is about to run on the module with this text."""
        if os.getpid() != self._pid:
            return  # a fork of the script, which may die independently
        with self._lock:
            self._running += 1
            file = ""
            if text:
                self._modules += 1
                file = f"module-{threading.get_ident()}-{self._modules % 2}"
                (self._folder / file).write_text(text, encoding="utf-8")
            fields = (threading.get_ident(), name, place, _plain(call), file)
            os.write(self._passes, f"{json.dumps(fields)}\n".encode())

    def ends(self) -> None:
        """Log the end of the pass that started last in this thread."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._running -= 1
            if self._running == 0:
                os.ftruncate(self._passes, 0)
            else:
                os.write(self._passes, f"{threading.get_ident()}\n".encode())

    def finds(self, finding: Finding, place: str, exception: int | None = None) -> None:
        """Log a violation by a pass.

        Args:
            exception: the number of its exception; see `uncaught`.
        """
        (call,) = finding.calls
        plain = dataclasses.replace(finding, calls=(PassCall(call.expr),))
        line = json.dumps((plain.to_json(), place, exception, _plain(call)))
        with self._lock:
            os.write(self._findings, f"{line}\n".encode())


class LoggingObserver(Observer):
    """The observer of a watched process: logs each pass before it runs and each finding once."""

    def __init__(self, folder: Path, *, semantics: bool | None, timeout: float) -> None:
        super().__init__(semantics=semantics, timeout=timeout)
        self._log = Log(folder)
        self._logged: dict[Mark, int] = {}
        atexit.register(self._write_counts, folder / CHECKED)

    def begins(self, running: Running) -> None:
        state = running.state
        call = inferred_call(running.name, running.made, running.config)
        text = state.written() if state.noted else ""
        self._log.begins(running.name, running.place, call, text)

    def ends(self, running: Running) -> None:
        self._log.ends()

    def violated(self, occurrence: Occurrence) -> None:
        self._note(occurrence)

    def crashed(
        self, error: BaseException, running: Running, occurrence: Occurrence | None
    ) -> None:
        error.add_note(f"relaxfuzz: raised in {running.name}")
        if occurrence is not None and occurrence.promised:
            vars(error)[NUMBER] = self._note(occurrence, raised=True)

    def _note(self, occurrence: Occurrence, *, raised: bool = False) -> int:
        """Log a violation, unless it was logged before; return its number."""
        mark = mark_of(occurrence.violation)
        if mark not in self._logged:
            self._logged[mark] = number = len(self._logged)
            place = occurrence.running.place
            self._log.finds(occurrence.finding(), place, number if raised else None)
        return self._logged[mark]

    def _write_counts(self, file: Path) -> None:
        counts = {
            "checked": self.checked.total(),
            "exempt": self.exempt.total(),
            "uncompared": dict(self.uncompared),
        }
        file.write_text(json.dumps(counts), encoding="utf-8")


def findings(folder: Path) -> Iterator[LoggedFinding]:
    """All findings of the log."""
    uncaught = set(map(int, _lines(folder / UNCAUGHT)))
    for line in _lines(folder / FINDINGS):
        text, place, exception, call = json.loads(line)
        finding = dataclasses.replace(Finding.from_json(text), calls=(_made(call),))
        yield LoggedFinding(finding, place, exception is not None and exception not in uncaught)


def running(folder: Path) -> list[LoggedPass]:
    """The innermost pass of each thread that was running one at the end."""
    stacks: dict[int, list[Any]] = {}
    for line in _lines(folder / PASSES):
        fields = json.loads(line)
        if isinstance(fields, int):
            stacks[fields].pop()
        else:
            stacks.setdefault(fields[0], []).append(fields[1:])
    last = []
    for stack in stacks.values():
        if stack:
            name, place, call, file = stack[-1]
            text = (folder / file).read_text(encoding="utf-8") if file else ""
            last.append(LoggedPass(name, place, _made(call), text))
    return last


def _lines(file: Path) -> list[str]:
    """The complete lines; the last one may be truncated."""
    if not file.is_file():
        return []
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def _plain(call: PassCall) -> dict[str, Any]:
    return {
        "kind": type(call).__name__,
        "expr": call.expr,
        "config": {k: v for k, v in call.config.items() if isinstance(v, bool | int | float | str)},
        "factory": call.factory,
    }


def _made(plain: dict[str, Any]) -> PassCall:
    """The call; a pass that only existed in the watched process is lost."""
    kind = {PassCall.__name__: PassCall, UnnamedPass.__name__: UnnamedPass}[plain.pop("kind")]
    return kind(**plain)
