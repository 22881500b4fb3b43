"""What a watched process leaves behind, whatever ends it: findings, and which passes are running.

A folder with `findings.jsonl`, a line for each; `passes`, a line for each beginning and end of a
pass, emptied whenever none runs; and a file for the module that each thread is at.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...oracles.passcall import PassCall
from ..findings.finding import Finding
from ..user_input.unnamed_pass import Held

FINDINGS = "findings.jsonl"
PASSES = "passes"
CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class Told:
    """A finding in a watched process."""

    finding: Finding
    place: str
    """The pass, and the passes around it."""


@dataclass(frozen=True, slots=True)
class Last:
    """A pass that ran when the process died."""

    name: str
    place: str
    call: PassCall
    module: str
    """The text of the module that it was given; empty where that was not written down."""


class Log:
    """Written by the process that is watched."""

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
            return  # a fork of the script: its death is its own
        with self._lock:
            self._running += 1
            file = ""
            if text:
                self._modules += 1
                file = f"module-{threading.get_ident()}-{self._modules % 2}"
                (self._folder / file).write_text(text, encoding="utf-8")
            words = (threading.get_ident(), name, place, _plain(call), file)
            os.write(self._passes, f"{json.dumps(words)}\n".encode())

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
        """An oracle has spoken."""
        (call,) = finding.calls
        plain = dataclasses.replace(finding, calls=(PassCall(call.expr),))
        line = json.dumps((plain.to_json(), place, _plain(call)))
        with self._lock:
            os.write(self._findings, f"{line}\n".encode())


def findings(folder: Path) -> Iterator[Told]:
    """All that was found."""
    for line in _lines(folder / FINDINGS):
        text, place, call = json.loads(line)
        yield Told(dataclasses.replace(Finding.from_json(text), calls=(_made(call),)), place)


def running(folder: Path) -> list[Last]:
    """The innermost pass of each thread that ran one at the end."""
    stacks: dict[int, list[Any]] = {}
    for line in _lines(folder / PASSES):
        words = json.loads(line)
        if isinstance(words, int):
            stacks[words].pop()
        else:
            stacks.setdefault(words[0], []).append(words[1:])
    last = []
    for stack in stacks.values():
        if stack:
            name, place, call, file = stack[-1]
            text = (folder / file).read_text(encoding="utf-8") if file else ""
            last.append(Last(name, place, _made(call), text))
    return last


def _lines(file: Path) -> list[str]:
    """Whole lines: the last one may have been cut off."""
    if not file.is_file():
        return []
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def _plain(call: PassCall) -> dict[str, Any]:
    plain = {k: v for k, v in call.config.items() if isinstance(v, bool | int | float | str)}
    return {
        "kind": type(call).__name__,
        "expr": call.expr,
        "config": plain,
        "factory": call.factory,
    }


def _made(plain: dict[str, Any]) -> PassCall:
    """A pass that was only in the memory of the process that wrote it is in none now."""
    kind = {PassCall.__name__: PassCall, Held.__name__: Held}[plain.pop("kind")]
    return kind(**plain)
