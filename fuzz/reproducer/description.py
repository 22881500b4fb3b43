"""A finding in words: the header of a reproducer, and a bug report for TVM's maintainers."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from pathlib import Path

from ...oracles.check import ORACLES
from ..findings.finding import Finding
from ..output.readable import fenced, sentence
from ..process.protocol import Death
from ..system import sanitizers

_DEATH_PROMISE = (
    "A pass transforms a module or raises an error; it never ends the process.",
    "docs/contribute/error_handling.rst: 'TVM contains structured error classes to indicate "
    "specific types of error'",
)

_MEMORY_PROMISE = (
    "A pass reads and writes only memory that it has, and does nothing that C++ leaves undefined.",
    "the C++ standard, [intro.abstract]: 'this document imposes no requirements on the behavior of "
    "programs that contain undefined behavior'",
)

_CHANGE_PROMISE = (
    "A pass maps a module to a module, and does not change the state of its process.",
    "docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'",
)

_PACKAGES = re.compile(r'"[^"\n]*/site-packages/')
"""The packages of this machine, which are of no use to the reader of a bug report."""

_HERE = str(Path(__file__).parents[2])

USES_RELAXFUZZ = "from relaxfuzz import "

WIDTH = 119

HEADER_LINES = 3
"""Lines of a difference in a header; running the file shows the rest."""

_QUOTED = re.compile("; |: '")
"""Where the name of a source ends."""

_TRACEBACK = "Traceback (most recent call last)"

REPORT_LINES = 12
"""Lines of the error in a bug report."""

DIFF_LINES = 60
"""A longer difference is left out of a bug report."""

SAME = 60
"""Characters in which an error line and the title must agree to be the same: either may be cut."""

NOT_TVMSCRIPT = (
    "By constructor calls: TVMScript does not give this module or does not show the bug."
)


def header(finding: Finding, check: str, *, note: str = "") -> str:
    """The comment at the beginning of a reproducer."""
    promise, source = promised(finding)
    lines = [
        *textwrap.wrap(title(finding), WIDTH),
        # A bug report quotes all sources; the name of one is enough here.
        f"Expected: {promise} ({_QUOTED.split(source)[0]})",
        f"Finding {finding.id} ({finding.oracle}), seen with {versions(finding)}",
    ]
    if USES_RELAXFUZZ in check:
        lines.append("It needs relaxfuzz, besides TVM and NumPy: compiled code hides the bug.")
    if finding.oracle == Death.SANITIZER:
        given = {name: os.environ[name] for name in sanitizers.VARIABLES if name in os.environ}
        lines.append("It needs the sanitizer. Run it with these variables:")
        lines += [f"  {name}={shlex.quote(value)}" for name, value in given.items()]
    lines += [note] if note else []
    # Of what ends the check, running the file shows more.
    if finding.oracle in ORACLES and _TRACEBACK not in finding.detail:
        lines += [f"  {line[:WIDTH]}" for line in error_lines(finding, HEADER_LINES)]
    # A line break in a foreign text would end the comment.
    return "\n".join(f"# {sentence(line)}".rstrip() for line in lines)


def title(finding: Finding) -> str:
    """The pass and what is wrong, in one line."""
    return f"{finding.label}: {finding.title}"


def promised(finding: Finding) -> tuple[str, str]:
    """The promise that was broken, and its source."""
    if finding.oracle == Death.CHANGED:
        return _CHANGE_PROMISE
    if finding.oracle == Death.SANITIZER:
        return _MEMORY_PROMISE
    if finding.oracle not in ORACLES:
        return _DEATH_PROMISE
    oracle = ORACLES[finding.oracle]
    return oracle.promise, oracle.source


def versions(finding: Finding) -> str:
    """The versions of TVM, Python and packages, in one line."""
    names = {
        "tvm": "TVM",
        "tvm_git": "git",
        "tvm_build": "build",
        "tvm_ffi": "tvm-ffi",
        "numpy": "NumPy",
    }
    parts = [
        f"{name} {finding.versions[key]}"
        for key, name in {**names, "python": "Python"}.items()
        if finding.versions.get(key, "unknown") != "unknown"
    ]
    if finding.first_bad is not None:
        parts.append(f"first bad version: {finding.first_bad}")
    return ", ".join(parts)


def error_lines(finding: Finding, most: int) -> list[str]:
    """The end of an exception, or the beginning of another description; without the title.

    A printed module is left out: running the reproducer shows it.
    """
    detail = _PACKAGES.sub('"', finding.detail).strip()
    if _TRACEBACK in detail:
        # The text after the frames is not indented.
        lines = without_own_frames(detail.splitlines())
        start = max(i for i, line in enumerate(lines) if line.startswith(("  File", "Traceback")))
        lines = [line for line in lines[start + 1 :] if line and not line.startswith("   ")]
    else:
        lines = [line for line in detail.partition("\n\n")[0].splitlines() if line.strip("# ")]
        lines = [line for line in lines if not line.lstrip().startswith("# from ")]
    lines = [re.sub(r"^(?:\w+\.)+(?=[A-Z])", "", line) for line in lines]
    if lines and lines[0][:SAME] in title(finding):
        lines = lines[1:]
    return lines[:most]


def without_own_frames(lines: list[str]) -> list[str]:
    """A traceback without the frames of relaxfuzz."""
    kept = []
    own = False
    for line in lines:
        if line.lstrip().startswith('File "'):
            own = f'File "{_HERE}' in line
        elif not line.startswith("    "):
            own = False
        if not own:
            kept.append(line)
    return kept


def issue_text(finding: Finding, script: str) -> str:
    """A bug report in Markdown: title, expected and actual behavior, versions, script."""
    promise, source = promised(finding)
    parts = [
        f"# [Bug][Relax] {title(finding)}",
        f"### Expected behavior\n\n{promise}\n\nSource: {source}",
        f"### Actual behavior\n\n{_actual(finding)}",
        f"### Environment\n\n{versions(finding)}",
        *([f"First bad version: {finding.first_bad}"] if finding.first_bad else []),
        f"### Steps to reproduce\n\n```python\n{script.strip()}\n```",
        f"<!-- relaxfuzz: {finding.oracle}, {finding.id} -->",
    ]
    return "\n\n".join(parts) + "\n"


def _actual(finding: Finding) -> str:
    parts = [title(finding)]
    if lines := error_lines(finding, REPORT_LINES):
        parts.append(fenced("\n".join(lines)))
    diff = "" if finding.exhibit is None else finding.exhibit.diff
    if diff and diff.count("\n") < DIFF_LINES:
        parts.append(fenced(diff, "diff"))
    return "\n\n".join(parts)
