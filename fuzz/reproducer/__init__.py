"""Renders a finding as a Python file or a bug report that only needs TVM, NumPy and the pass.

A bug that compiled code hides (a race, a read of uninitialized memory) also needs relaxfuzz.
"""

from __future__ import annotations

import enum
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..findings.confirm import again
from ..findings.finding import Finding
from ..findings.script import is_reproducer
from ..process.executor import Executor
from ..system.scratch import scratch
from .checks import FailingCheck, failing_checks
from .description import NOT_TVMSCRIPT, header, issue_text
from .execution import fails_as_found, raised, raised_by_check, run
from .file import file_text
from .module_text import ModuleText, as_script, as_source, source_of

__all__ = [
    "Form",
    "failing",
    "fails",
    "is_reproducer",
    "length",
    "raised",
    "raised_by_check",
    "run",
    "source_of",
    "texts",
]


class Form(enum.StrEnum):
    """The forms of a reproducer."""

    TVMSCRIPT = "tvmscript"
    """A Python file with the module as TVMScript if that fails, else by constructor calls."""
    SOURCE = "source"
    """A Python file that builds the exact module by constructor calls, for TVM from 0.25 on."""
    ISSUE = "issue"
    """A bug report in Markdown with the shortest file that fails."""


def texts(
    finding: Finding,
    form: Form = Form.TVMSCRIPT,
    executor: Executor | None = None,
    brief: bool | None = None,
) -> Iterator[str]:
    """Reproducers to try, the simplest first. None of them has been run yet: see `fails`.

    Args:
        executor: see `failing_checks`; it also checks the module that TVMScript makes, if that
            differs. None: only an equal module is accepted.
        brief: see `failing_checks`.

    Raises:
        BadPass: the file that defines a user's pass no longer exists.
    """

    def shows(module: str) -> bool:
        return executor is not None and again(executor, finding, module) is not None

    script = None if form is Form.SOURCE else as_script(finding.module, shows)
    source = as_source(finding.module, finding.source)
    note = "" if form is Form.SOURCE else NOT_TVMSCRIPT
    for group in _groups(failing_checks(finding, executor, brief)):
        if form is Form.ISSUE:
            modules = [module for module in (script, source) if module is not None]
            files = [file_text(finding, each, check, "") for check in group for each in modules]
            yield from (issue_text(finding, file) for file in sorted(files, key=length))
            continue
        if script is not None:
            yield from (_with_header(finding, script, check) for check in group)
        yield from (_with_header(finding, source, check, note) for check in group)


def length(text: str) -> int:
    """The number of lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def fails(text: str, finding: Finding) -> bool:
    """Run a reproducer in a fresh process; return whether it fails as the finding does."""
    report = _REPORT.search(text)
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = Path(folder) / "reproducer.py"
        path.write_text(report[1] if report else text, encoding="utf-8")
        return fails_as_found(path, finding)


def failing(
    finding: Finding,
    form: Form = Form.TVMSCRIPT,
    *,
    executor: Executor,
    brief: bool | None = None,
) -> str | None:
    """The simplest reproducer that was seen to fail; None if there is none.

    Args:
        brief: see `failing_checks`.

    Raises:
        BadPass: see `texts`.
    """
    tried = texts(finding, form, executor, brief)
    return next((text for text in tried if fails(text, finding)), None)


_REPORT = re.compile(r"\A# .*^```python\n(.*?)^```$", re.M | re.S)
"""Pattern for a bug report and the file in it."""


def _with_header(finding: Finding, module: ModuleText, check: FailingCheck, note: str = "") -> str:
    return file_text(finding, module, check, header(finding, check.text, note=note))


def _groups(checks: Iterator[FailingCheck]) -> Iterator[list[FailingCheck]]:
    """The brief checks together, then the others one by one, since those are slower to make."""
    brief: list[FailingCheck] = []
    for check in checks:
        if check.brief:
            brief.append(check)
            continue
        if brief:
            yield brief
            brief = []
        yield [check]
    if brief:
        yield brief
