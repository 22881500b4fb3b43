"""The log of a watched process, which survives its death: findings, and the passes that run.

A folder with `findings.jsonl`, a line for each; `passes`, a line for each beginning and end of a
pass, emptied whenever none runs; and a file for the module that each thread is at.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...oracles.passcall import PassCall
from ...oracles.violation import mark_of
from ..findings.finding import Finding
from ..user_input.unnamed_pass import UnnamedPass
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
    """The pass and the passes around it."""


@dataclass(frozen=True, slots=True)
class LoggedPass:
    """A pass that ran when the process died."""

    name: str
    place: str
    call: PassCall
    module: str
    """The text of its input; empty if that was not logged."""


class Log:
    """Written by the watched process."""

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
        """A pass is about to run on the module with this text."""
        if os.getpid() != self._pid:
            return  # a fork of the script, which may die on its own
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
        """The pass that began last in this thread is over."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._running -= 1
            if self._running == 0:
                os.ftruncate(self._passes, 0)
            else:
                os.write(self._passes, f"{threading.get_ident()}\n".encode())

    def finds(self, finding: Finding, place: str) -> None:
        """A pass violated its contract."""
        (call,) = finding.calls
        plain = dataclasses.replace(finding, calls=(PassCall(call.expr),))
        line = json.dumps((plain.to_json(), place, _plain(call)))
        with self._lock:
            os.write(self._findings, f"{line}\n".encode())


class LoggingObserver(Observer):
    """The observer of a watched process: logs each pass before it runs and each finding once."""

    def __init__(self, folder: Path, *, semantics: bool) -> None:
        super().__init__(semantics=semantics)
        self._log = Log(folder)
        self._logged: set[tuple[str, ...]] = set()
        atexit.register(self._write_counts, folder / CHECKED)

    def begins(self, running: Running) -> None:
        state = running.state
        call = dataclasses.replace(_call(running.name), config=running.config)
        text = ""
        if (running.outer is None or state.has_relax) and state.portable:
            state.note()
            text = state.written()
        self._log.begins(running.name, running.place, call, text)

    def ends(self, running: Running) -> None:
        self._log.ends()

    def violated(self, occurrence: Occurrence) -> None:
        violation = occurrence.violation
        mark = mark_of(violation)
        if mark not in self._logged:
            self._logged.add(mark)
            self._log.finds(occurrence.finding(), occurrence.running.place)

    def crashed(
        self, error: BaseException, running: Running, occurrence: Occurrence | None
    ) -> None:
        error.add_note(f"relaxfuzz: raised in {running.name}")
        if occurrence is not None and occurrence.promised:
            self.violated(occurrence)

    def _write_counts(self, file: Path) -> None:
        counts = {
            "checked": self.checked.total(),
            "exempt": self.exempt.total(),
            "too_large": self.too_large.total(),
        }
        file.write_text(json.dumps(counts), encoding="utf-8")


@functools.cache
def _call(name: str) -> PassCall:
    return inferred_call(name, None, {})


def findings(folder: Path) -> Iterator[LoggedFinding]:
    """All findings of the log."""
    for line in _lines(folder / FINDINGS):
        text, place, call = json.loads(line)
        yield LoggedFinding(
            dataclasses.replace(Finding.from_json(text), calls=(_made(call),)), place
        )


def running(folder: Path) -> list[LoggedPass]:
    """The innermost pass of each thread that ran one at the end."""
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
    """Whole lines: the last one may have been cut off."""
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
    """The call; a pass that existed only in the watched process is gone."""
    kind = {PassCall.__name__: PassCall, UnnamedPass.__name__: UnnamedPass}[plain.pop("kind")]
    return kind(**plain)
