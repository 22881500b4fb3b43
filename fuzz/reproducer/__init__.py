"""A finding as a Python file of its own, or as a report, which needs only TVM, NumPy and the pass.

What compiled code does not show (a race, a read of memory that nobody wrote) needs relaxfuzz, too.
"""

from __future__ import annotations

import enum
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..findings.finding import Finding
from ..findings.script import is_reproducer
from ..system.scratch import scratch
from .account import FALLEN_BACK, header
from .execution import Here, Scripts, as_found, prepared, raised, run
from .file import file_text
from .issue import issue_text
from .module_text import ModuleText, as_script, as_source, source_of
from .way import Way, ways

__all__ = [
    "Form",
    "Here",
    "Scripts",
    "failing",
    "fails",
    "is_reproducer",
    "length",
    "prepared",
    "raised",
    "run",
    "source_of",
    "texts",
]


class Form(enum.StrEnum):
    """What a reproducer looks like."""

    SOURCE = "source"
    """A Python file that builds exactly the module by constructor calls, in any TVM from 0.25."""
    TVMSCRIPT = "tvmscript"
    """A Python file with the module as TVMScript, where that gives the module and fails, too."""
    ISSUE = "issue"
    """A report in Markdown with the shortest file that fails."""


def texts(finding: Finding, form: Form = Form.SOURCE) -> Iterator[str]:
    """Reproducers to try, the simplest first. They are claims until `fails` has seen them fail.

    Raises:
        BadPass: the file that defines a user's pass is gone.
    """
    script = None if form is Form.SOURCE else as_script(finding.module)
    source = as_source(finding.module, finding.source)
    for group in _by_length(ways(finding)):
        if form is Form.ISSUE:
            files = [
                file_text(finding, module, way, "")
                for way in group
                for module in (script, source)
                if module is not None
            ]
            yield from (issue_text(finding, file) for file in sorted(files, key=length))
            continue
        if script is not None:
            yield from (_headed(finding, script, way) for way in group)
        note = "" if form is Form.SOURCE else FALLEN_BACK
        yield from (_headed(finding, source, way, note) for way in group)


def length(text: str) -> int:
    """Lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def fails(text: str, finding: Finding) -> bool:
    """Execute a reproducer, in any form, in a fresh process: does it fail as the finding says?"""
    report = _REPORT.search(text)
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = Path(folder) / "reproducer.py"
        path.write_text(report[1] if report else text, encoding="utf-8")
        return as_found(path, finding)


def failing(finding: Finding, form: Form = Form.SOURCE) -> str | None:
    """The simplest reproducer that was seen to fail; None where none does.

    Raises:
        BadPass: see `texts`.
    """
    return next((text for text in texts(finding, form) if fails(text, finding)), None)


_REPORT = re.compile(r"\A# .*^```python\n(.*?)^```$", re.M | re.S)
"""A report with the file in it."""


def _headed(finding: Finding, module: ModuleText, way: Way, note: str = "") -> str:
    return file_text(finding, module, way, header(finding, way.text, note=note))


def _by_length(all_ways: Iterator[Way]) -> Iterator[list[Way]]:
    """The brief ones together; the others, which cost more to make, are asked for one by one."""
    whole = None
    brief: list[Way] = []
    for way in all_ways:
        if not way.brief:
            whole = way
            break
        brief.append(way)
    yield brief
    if whole is not None:
        yield [whole]
        yield from ([way] for way in all_ways)
