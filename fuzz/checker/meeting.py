"""A violation that was met in a build: where, as a finding, and as a file that shows it."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from pathlib import Path

from ...generators.tvm_api import versions
from ...oracles.keys import headline
from ...oracles.violation import Violation
from .. import reproducer
from ..findings.finding import Finding
from ..findings.store import Store, file_name
from ..reproducer.account import seen
from ..system.files import write_whole
from ..user_input.unnamed_pass import Held
from . import again
from .running import Running
from .spelling import spelled

LINES = 4
"""Of an oracle's account in a message: the file shows the rest."""


@dataclass(frozen=True)
class Meeting:
    """What a pass did, and in which build."""

    violation: Violation
    running: Running
    promised: bool = True
    """It is a finding; else nobody has said that the pass takes such a module."""

    def sketch(self) -> Finding:
        """The finding without the module: enough to see whether it is known."""
        call = spelled(self.running.name, self.running.made, self.running.config)
        return Finding.of(self.violation, module="", versions=versions(), calls=(call,))

    def finding(self) -> Finding:
        """With the module as it was given; without it where that is too large to be written."""
        state = self.running.state
        if not state.portable:
            return self.sketch()
        if not state.noted and not state.intact and (text := again.given(self.running)) is not None:
            state.restore(text)
        return dataclasses.replace(self.sketch(), module=state.written())


@dataclass(frozen=True)
class Kept:
    """A finding that was told, and the file that goes with it."""

    finding: Finding
    file: Path | None
    fails: bool
    """The file was seen to fail in a fresh process; else it has a gap for the pass."""

    def note(self) -> str:
        """Where to look."""
        if self.file is None:
            return "No file reproduces it: the module is too large, or cannot be written."
        if self.fails:
            return f"A file that fails in the same way: {self.file}"
        return f"The module, with a gap for the pass, which could not be made again: {self.file}"

    def message(self, place: str) -> str:
        """What is raised, or told at the end."""
        told = "\n".join(f"  {headline(line)}" for line in seen(self.finding, LINES))
        head = f"{place}: {self.finding.title} ({self.finding.oracle})"
        return "\n".join(filter(None, (head, told, self.note())))


def keep(finding: Finding, folder: Path) -> Kept:
    """Write a finding into the store of this folder, with a file, which is run to see it fail.

    Raises:
        BadStore: the folder cannot serve as a store.
    """
    if not finding.module:
        return Kept(finding, None, False)
    finding = dataclasses.replace(finding, source=reproducer.source_of(finding.module))
    (call,) = finding.calls
    text = None if isinstance(call, Held) else reproducer.failing(finding)
    with Store(folder) as store:
        if text is not None:
            published = store.publish(dataclasses.replace(finding, confirmed=True), text)
            return Kept(published, store.reproducer(published), True)
        with contextlib.suppress(Exception):  # some oracles' checks need the pass to be written
            gap = dataclasses.replace(finding, calls=(Held(call.expr, call.config),))
            file = store.folder / "reproducers" / file_name(finding)
            write_whole(file, next(reproducer.texts(gap)))
            return Kept(finding, file, False)
    return Kept(finding, None, False)
