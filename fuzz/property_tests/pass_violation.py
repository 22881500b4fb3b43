"""The exception of `check_pass`, and the minimized module and reproducer that its text shows."""

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
from ...oracles.exhibit import exhibit as show
from ...oracles.pipelines import BUILT
from ...oracles.violation import Case, Violation
from .. import reproducer
from ..findings.confirm import again, exhibit
from ..findings.finding import Finding
from ..findings.store import file_name
from ..minimize.findings import minimized
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..report.failure_text import headed, whole
from ..reproducer import Form
from ..session.met import HEADING, breaking
from ..system.errors import UserError
from ..system.files import write_whole
from ..user_input.unnamed_pass import UnnamedPass

FOLDER = Path(".relaxfuzz")
"""The folder for reproducers, in the working directory."""

MINIMIZE_SECONDS = 5.0
"""Seconds to minimize the module of one failure; most need less than one."""

UNTRIED = (
    "(The module is minimized, and a reproducer made, for the example that is shown at the end.)"
)


class PassViolation(AssertionError):
    """A pass broke a promise. The text is complete when the exception is raised.

    Attributes:
        violation: the report of the oracle.
        reproducer: a Python file that fails in the same way, with a gap for a pass that is only in
            memory. It is empty if no file failed, and while Hypothesis is still searching.
    """

    def __init__(self, text: str, violation: Violation, reproducer: str = "") -> None:
        super().__init__(text)
        self.violation = violation
        self.reproducer = reproducer


def brief(finding: Finding) -> PassViolation:
    """The exception for one of the hundreds of examples that Hypothesis tries but does not show."""
    return PassViolation(f"{headed(finding)}\n\n{UNTRIED}", finding.violation)


def explained(finding: Finding) -> PassViolation:
    """The exception with the minimized module and the reproducer, which is written to `FOLDER`."""
    try:
        small, text = _minimized(finding)
        shown = whole(small, _hints(small, text))
        if knowns := breaking(pool(), finding.module, BUILT):
            shown = "\n\n".join([f"{HEADING.format(BUILT)}", *knowns, shown])
        return PassViolation(shown, finding.violation, text)
    except Exception as error:  # the violation is valid without it
        reason = f"{type(error).__name__}: {error}"
        text = f"{headed(finding)}\n\nIt could not be minimized: {reason}"
        return PassViolation(text, finding.violation)


def _minimized(finding: Finding) -> tuple[Finding, str]:
    """The minimized finding with its exhibit, and the reproducer."""
    finding = dataclasses.replace(finding, source=reproducer.source_of(finding.module))
    (call,) = finding.calls
    if not isinstance(call, UnnamedPass):
        return _in_workers(finding)
    if (named := call.named()) is not None:
        elsewhere = dataclasses.replace(finding, calls=(named,))
        # In another process the pass may have other state, or fail to import.
        with contextlib.suppress(ExecutorError, UserError):
            if again(pool(), elsewhere, finding.module) is not None:
                return _in_workers(elsewhere)
    return _in_process(finding)


def _hints(finding: Finding, text: str) -> Sequence[str]:
    if not text:
        return ["No file reproduces it; this test is its reproducer."]
    path = FOLDER / file_name(finding)
    write_whole(path, text)
    if isinstance(finding.calls[0], UnnamedPass):
        return [f"Reproducer, with a gap for the pass, which has no import path: {path}"]
    return [f"Reproducer:   {path}", f"See it again: relaxfuzz replay {path}"]


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
    """Keep the module unchanged, because the pass only exists in this process."""
    mod = load_json(finding.module)
    shown = show(Case(mod, finding.calls), finding.violation)
    text = next(reproducer.texts(finding, Form.SOURCE))  # it is not run
    return dataclasses.replace(finding, exhibit=shown), text


def pool() -> LocalPool:
    """The worker that checks passes by name for this process, as long as it lives."""
    return _pool_of(os.getpid())


@functools.cache
def _pool_of(owner: int) -> LocalPool:
    """The same; a forked process inherits the cache but no threads, so it makes its own."""
    pool = LocalPool(1)
    atexit.register(pool.close)
    return pool
