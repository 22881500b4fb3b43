"""The observer of a watched process: it writes down what it sees, and stops nothing."""

from __future__ import annotations

import atexit
import functools
import json
from dataclasses import replace
from pathlib import Path

from ...oracles.passcall import PassCall
from .instrument import Observer
from .log import CHECKED, Log
from .meeting import Meeting
from .running import Running
from .spelling import spelled


class Witness(Observer):
    """Tells its log of each pass before it runs, and of each finding once."""

    def __init__(self, folder: Path, *, semantics: bool) -> None:
        super().__init__(semantics=semantics)
        self._log = Log(folder)
        self._told: set[tuple[str, ...]] = set()
        atexit.register(self._conclude, folder / CHECKED)

    def begins(self, running: Running) -> None:
        state = running.state
        call = replace(_spelled(running.name), config=running.config)
        text = ""
        if (running.outer is None or state.has_relax) and state.portable:
            state.note()
            text = state.written()
        self._log.begins(running.name, running.place, call, text)

    def ends(self, running: Running) -> None:
        self._log.ends()

    def violated(self, meeting: Meeting) -> None:
        violation = meeting.violation
        identity = (violation.oracle, violation.pass_name, *violation.key, violation.place)
        if identity not in self._told:
            self._told.add(identity)
            self._log.finds(meeting.finding(), meeting.running.place)

    def crashed(self, error: BaseException, running: Running, meeting: Meeting | None) -> None:
        error.add_note(f"relaxfuzz: raised in {running.name}")
        if meeting is not None and meeting.promised:
            self.violated(meeting)

    def _conclude(self, file: Path) -> None:
        counts = {"checked": self.checked.total(), "exempt": self.exempt.total()}
        file.write_text(json.dumps(counts), encoding="utf-8")


@functools.cache
def _spelled(name: str) -> PassCall:
    return spelled(name, None, {})
