"""A violation in a build, as a finding, and as a file that reproduces it."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from pathlib import Path

from ...compat.release import versions
from ...oracles.ingredients import ingredients
from ...oracles.passcall import PassCall, is_users
from ...oracles.text.messages import headline
from ...oracles.violation import Violation
from .. import reproducer
from ..findings.finding import Finding
from ..findings.store import Store
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..reproducer.description import error_lines
from ..reproducer.execution import fails_as_found
from ..system.errors import UserError
from ..user_input.unnamed_pass import UnnamedPass
from .calls import inferred_call
from .running import Running

LINES = 4
"""Most lines of an oracle's details in a message; the file shows the rest."""


@dataclass(frozen=True)
class Occurrence:
    """A violation of a pass, in a build."""

    violation: Violation
    running: Running
    promised: bool = True
    """True for a finding; if not, it is undocumented whether the pass accepts such a module."""

    def without_module(self) -> Finding:
        """The finding without its module, enough to look it up among the known bugs."""
        call = inferred_call(self.running.name, self.running.made, self.running.config)
        return Finding(
            violation=self.violation,
            module="",
            versions=versions(),
            calls=(call,),
            made_of=tuple(sorted(ingredients(self.running.state.mod))),
        )

    def finding(self) -> Finding:
        """The finding with the pass's input, unless the input is too large or was not recorded."""
        state = self.running.state
        if not state.portable or not (state.noted or state.intact):
            return self.without_module()
        return dataclasses.replace(self.without_module(), module=state.written())


@dataclass(frozen=True)
class SavedFinding:
    """A finding in the store, and its file."""

    finding: Finding
    file: Path | None = None
    text: str = ""
    """The text of the file."""
    fails: bool = False
    """True if the file failed in a fresh process; otherwise it has a placeholder for the pass."""

    @property
    def lack(self) -> str:
        """The reason why no file fails; empty if one does."""
        if self.file is None:
            return "No file reproduces it: the module is too large or cannot be written."
        return "" if self.fails else "The file has a placeholder for the pass: it has no import."

    def note(self) -> str:
        """A line about the file."""
        if self.file is None:
            return self.lack
        return f"Reproducer: {self.file}" + (f"\n{self.lack}" if self.lack else "")

    def message(self, place: str) -> str:
        """The text of the exception, and of the report at the end."""
        details = "\n".join(f"  {headline(line)}" for line in error_lines(self.finding, LINES))
        head = f"{place}: {self.finding.title} ({self.finding.oracle})"
        return "\n".join(filter(None, (head, details, self.note())))


def save(finding: Finding, folder: Path) -> SavedFinding:
    """Write a finding to the store of this folder, with a reproducer that is run once.

    A pass that cannot be imported has a placeholder in the reproducer, which is then not run. An
    existing finding with the same id and a smaller module stays if its reproducer still fails.

    Raises:
        BadStore: the folder cannot serve as a store.
    """
    if not finding.module:
        return SavedFinding(finding)
    with Store(folder) as store:
        if (smaller := _smaller(finding, store)) is not None:
            return smaller
        finding = dataclasses.replace(finding, source=reproducer.source_of(finding.module))
        (call,) = finding.calls
        text = None if isinstance(call, UnnamedPass) else _failing(finding)
        if text is not None:
            published = store.publish(dataclasses.replace(finding, confirmed=True), text)
            return SavedFinding(published, store.reproducer(published), text, fails=True)
        with contextlib.suppress(Exception):  # some checks cannot be written without the pass
            gap = dataclasses.replace(finding, calls=(UnnamedPass(call.expr, call.config),))
            text = next(reproducer.texts(gap, Form.SOURCE))
            # It was seen in the build, which is as certain as another run.
            plain = PassCall(call.expr, call.config)
            stored = dataclasses.replace(finding, calls=(plain,), confirmed=True)
            return SavedFinding(finding, store.reproducer(store.publish(stored, text)), text)
    return SavedFinding(finding)


def _smaller(finding: Finding, store: Store) -> SavedFinding | None:
    """The finding of the store with this id, if its module is smaller and its file still fails."""
    known = store.get(finding.id)
    if known is None or not known.confirmed or known.versions != finding.versions:
        return None
    if any(is_users(call) and call.factory is None for call in known.calls):
        return None  # its reproducer has a placeholder
    file = store.reproducer(known)
    if file is None or (len(known.module) > len(finding.module) and not known.reduced):
        return None
    if not fails_as_found(file, known):
        return None
    return SavedFinding(known, file, file.read_text(encoding="utf-8"), fails=True)


def _failing(finding: Finding) -> str | None:
    """A file that fails; the pass runs in children, so that it cannot kill the build."""
    try:
        with LocalPool(1) as pool:
            return reproducer.failing(finding, executor=pool)
    except (ExecutorError, UserError):  # a child cannot import the pass
        return None
