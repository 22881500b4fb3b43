"""A violation in a build: where it is, as a finding, and as a file that reproduces it."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument

from ...compat.release import versions
from ...compat.serialization import load_json
from ...oracles.ingredients import ingredients
from ...oracles.text.messages import headline
from ...oracles.violation import Violation
from .. import reproducer
from ..findings.finding import Finding
from ..findings.store import Store, file_name
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..reproducer.description import error_lines
from ..system.files import write_whole
from ..user_input.errors import UserError
from ..user_input.unnamed_pass import UnnamedPass
from .calls import inferred_call
from .running import Running, mark

LINES = 4
"""Of an oracle's details in a message: the file shows the rest."""


@dataclass(frozen=True)
class Occurrence:
    """A violation of a pass, in a build."""

    violation: Violation
    running: Running
    promised: bool = True
    """It is a finding; otherwise it is not documented that the pass takes such a module."""

    def without_module(self) -> Finding:
        """The finding without its module: enough to look up whether it is known."""
        call = inferred_call(self.running.name, self.running.made, self.running.config)
        return Finding(
            violation=self.violation,
            module="",
            versions=versions(),
            calls=(call,),
            made_of=tuple(sorted(ingredients(self.running.state.mod))),
        )

    def finding(self) -> Finding:
        """The finding with the pass's input; without it if that is too large to be written."""
        state = self.running.state
        if not state.portable:
            return self.without_module()
        if (
            not state.noted
            and not state.intact
            and (text := _input_again(self.running)) is not None
        ):
            state.restore(text)
        return dataclasses.replace(self.without_module(), module=state.written())


@dataclass(frozen=True)
class SavedFinding:
    """A finding in the store, and its file."""

    finding: Finding
    file: Path | None
    fails: bool
    """The file failed in a fresh process; otherwise it has a placeholder for the pass."""

    def note(self) -> str:
        """A line about the file."""
        if self.file is None:
            return "No file reproduces it: the module is too large or cannot be written."
        if self.fails:
            return f"Reproducer: {self.file}"
        return f"The module, with a placeholder for the pass, which cannot be imported: {self.file}"

    def message(self, place: str) -> str:
        """The text of the exception, and of the report at the end."""
        details = "\n".join(f"  {headline(line)}" for line in error_lines(self.finding, LINES))
        head = f"{place}: {self.finding.title} ({self.finding.oracle})"
        return "\n".join(filter(None, (head, details, self.note())))


def save(finding: Finding, folder: Path) -> SavedFinding:
    """Write a finding to the store of this folder, with a reproducer, which is run once.

    Raises:
        BadStore: the folder cannot serve as a store.
    """
    if not finding.module:
        return SavedFinding(finding, None, False)
    finding = dataclasses.replace(finding, source=reproducer.source_of(finding.module))
    (call,) = finding.calls
    text = None if isinstance(call, UnnamedPass) else _failing(finding)
    with Store(folder) as store:
        if text is not None:
            published = store.publish(dataclasses.replace(finding, confirmed=True), text)
            return SavedFinding(published, store.reproducer(published), True)
        with contextlib.suppress(Exception):  # some checks cannot be written without the pass
            gap = dataclasses.replace(finding, calls=(UnnamedPass(call.expr, call.config),))
            file = store.folder / "reproducers" / file_name(finding)
            write_whole(file, next(reproducer.texts(gap, Form.SOURCE)))
            return SavedFinding(finding, file, False)
    return SavedFinding(finding, None, False)


def _failing(finding: Finding) -> str | None:
    """A file that fails; the pass runs in children, so that it cannot end the build."""
    try:
        with LocalPool(1) as pool:
            return reproducer.failing(finding, executor=pool)
    except (ExecutorError, UserError):  # a child cannot import the pass
        return None


class _Reached(Exception):
    """The pass is about to run."""


@pass_instrument
class _InputCatcher:
    def __init__(self, ordinal: int, expected: int) -> None:
        self.text: str | None = None
        self._left = ordinal
        self._expected = expected

    def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
        if self._left == 0:
            if mark(mod) == self._expected:
                self.text = str(tvm.ir.save_json(mod))
            raise _Reached
        self._left -= 1


def _input_again(running: Running) -> str | None:
    """The input of a pass that changed it, by a second run of the outermost pass; or None."""
    outermost = running.outermost
    start, pass_ = outermost.state, outermost.made
    if running is outermost or pass_ is None or not (start.noted or start.intact):
        return None
    now = tvm.transform.PassContext.current()
    catcher = _InputCatcher(running.ordinal, running.state.mark)
    context = tvm.transform.PassContext(
        opt_level=now.opt_level,
        required_pass=list(now.required_pass),
        disabled_pass=list(now.disabled_pass),
        config=outermost.config,
        instruments=[catcher],
    )
    try:
        with context:
            pass_(load_json(start.written()))
    except Exception:  # `_Reached`, by the name that TVM gives it; or the pass is not reached
        pass
    return catcher.text
