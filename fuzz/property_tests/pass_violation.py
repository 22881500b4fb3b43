"""The exception of `check_pass`; its text is made when it is shown."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from ...compat.serialization import load_json
from ...oracles.text.exhibit import alone
from ...oracles.text.exhibit import exhibit as show
from ...oracles.text.printed import printed
from ...oracles.violation import Case
from .. import reproducer
from ..findings.confirm import DEATHS, again, exhibit
from ..findings.finding import Finding
from ..findings.store import file_name
from ..minimize.findings import minimized
from ..output.failure_text import headed, whole
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..system.files import write_whole
from ..user_input.errors import UserError
from ..user_input.unnamed_pass import UnnamedPass

FOLDER = Path(".relaxfuzz")
"""Where reproducers go, in the working directory."""

MINIMIZE_SECONDS = 5.0
"""For the module of one failure; most need less than one."""

UNTRIED = (
    "(The module is minimized, and a reproducer made, for the example that is shown at the end.)"
)


class PassViolation(AssertionError):
    """A pass broke a promise.

    The minimized module and the reproducer are made on demand: Hypothesis tries hundreds of
    examples on its way to the one that it shows.

    Attributes:
        violation: what the oracle reported.
    """

    def __init__(self, finding: Finding, *, brief: bool = False) -> None:
        """
        Args:
            brief: the text has no minimized module and no reproducer.
        """
        super().__init__(f"{finding.label}: {finding.title}")
        self.violation = finding.violation
        self._finding = finding
        self._brief = brief
        self._folder = Path.cwd() / FOLDER

    @property
    def reproducer(self) -> str:
        """A Python file that fails in the same way, with a gap for a pass that is only in memory.

        Empty if none failed.
        """
        return self._minimized[1]

    @functools.cached_property
    def _minimized(self) -> tuple[Finding, str]:
        """The finding with its exhibit, minimized; the reproducer."""
        source = reproducer.source_of(self._finding.module)
        finding = dataclasses.replace(self._finding, source=source)
        (call,) = finding.calls
        if not isinstance(call, UnnamedPass):
            return _in_workers(finding)
        if (named := call.named()) is not None:
            elsewhere = dataclasses.replace(finding, calls=(named,))
            # In another process the pass may be in another state, or cannot be imported.
            with contextlib.suppress(ExecutorError, UserError):
                if again(pool(), elsewhere, finding.module) is not None:
                    return _in_workers(elsewhere)
        return _in_process(finding)

    @functools.cached_property
    def _text(self) -> str:
        if self._brief:
            return f"{headed(self._finding)}\n\n{UNTRIED}"
        try:
            finding, text = self._minimized
            return whole(finding, self._hints(finding, text))
        except Exception as error:  # the violation is valid without it
            reason = f"{type(error).__name__}: {error}"
            return f"{headed(self._finding)}\n\nIt could not be minimized: {reason}"

    def _hints(self, finding: Finding, text: str) -> Sequence[str]:
        if not text:
            return ["No file reproduces it; this test is its reproducer."]
        path = self._folder / file_name(finding)
        write_whole(path, text)
        shown = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
        if isinstance(finding.calls[0], UnnamedPass):
            return [f"Reproducer, with a gap for the pass, which has no import path: {shown}"]
        return [f"Reproducer:   {shown}", f"See it again: relaxfuzz replay {shown}"]

    def __str__(self) -> str:
        return self._text


def _in_workers(finding: Finding) -> tuple[Finding, str]:
    deadline = time.monotonic() + MINIMIZE_SECONDS
    small = minimized(pool(), finding, over=lambda: time.monotonic() > deadline).finding
    for candidate in (small, finding) if small is not finding else (finding,):
        if (text := reproducer.failing(candidate, executor=pool())) is not None:
            break
    else:
        candidate, text = small, ""
    return dataclasses.replace(candidate, exhibit=exhibit(pool(), candidate)), text


def _in_process(finding: Finding) -> tuple[Finding, str]:
    """Keep the module: the pass exists only in this process."""
    mod = load_json(finding.module)
    if finding.oracle in DEATHS:
        shown = alone(printed(mod), finding.violation)
    else:
        shown = show(Case(mod, finding.calls), finding.violation)
    text = next(reproducer.texts(finding, Form.SOURCE))  # it is not run
    return dataclasses.replace(finding, exhibit=shown), text


@functools.cache
def pool() -> LocalPool:
    """The worker that checks passes by name for this process, until its end."""
    pool = LocalPool(1)
    atexit.register(pool.close)
    return pool
