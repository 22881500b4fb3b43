"""A finding in words: the header of a reproducer, and a bug report for TVM's maintainers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from ...oracles.check import ORACLES
from ...oracles.passcall import is_users
from ..findings.finding import Finding
from ..output.readable import fenced, sentence
from ..process.protocol import Death

_DEATH_PROMISE = (
    "A pass transforms a module or raises an error; it never ends the process.",
    "docs/contribute/error_handling.rst: 'TVM contains structured error classes to indicate "
    "specific types of error'",
)

_CHANGE_PROMISE = (
    "A pass maps a module to a module, and does not change the state of its process.",
    "docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'",
)

_PACKAGES = re.compile(r'"[^"\n]*/site-packages/')
"""The packages of this machine, which are of no use in a bug report."""

_HERE = str(Path(__file__).parents[2])

USES_RELAXFUZZ = "from relaxfuzz"

WIDTH = 119

HEADER_LINES = 3
"""Lines of a difference in a header; running the file shows the rest."""

_QUOTED = re.compile("; |: '")
"""The end of the name of a source."""

_TRACEBACK = "Traceback (most recent call last)"

REPORT_LINES = 12
"""Most lines of the error in a bug report."""

DIFF_LINES = 60
"""Most lines of a difference in a bug report; longer ones are left out."""

SAME = 60
"""Number of equal characters for an error line and the title to count as the same, since either may
be cut."""

NOT_TVMSCRIPT = (
    "By constructor calls: TVMScript does not give this module or does not show the bug."
)


def header(finding: Finding, check: str, *, note: str = "") -> str:
    """The comment at the beginning of a reproducer."""
    promise, source = promised(finding)
    lines = [
        *textwrap.wrap(title(finding), WIDTH),
        # A bug report quotes all sources, so the name of one is enough here.
        f"Expected: {promise} ({_QUOTED.split(source)[0]})",
        f"Finding {finding.id} ({finding.oracle}), seen with {versions(finding)}",
    ]
    if USES_RELAXFUZZ in check:
        lines.append("It needs relaxfuzz, besides TVM and NumPy: these alone do not show the bug.")
    lines += [note] if note else []
    # If an exception ends the check, running the file shows more.
    if finding.oracle in ORACLES and _TRACEBACK not in finding.detail:
        lines += [f"  {line[:WIDTH]}" for line in error_lines(finding, HEADER_LINES)]
    # A line break in a foreign text would end the comment.
    return "\n".join(f"# {sentence(line)}".rstrip() for line in lines)


def title(finding: Finding) -> str:
    """The pass and its error, in one line."""
    return f"{finding.label}: {finding.title}"


def promised(finding: Finding) -> tuple[str, str]:
    """The promise that was broken, and its source."""
    if finding.oracle == Death.CHANGED:
        return _CHANGE_PROMISE
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
    return ", ".join(
        f"{name} {finding.versions[key]}"
        for key, name in {**names, "python": "Python"}.items()
        if finding.versions.get(key, "unknown") != "unknown"
    )


def error_lines(finding: Finding, most: int) -> list[str]:
    """The end of an exception, or the beginning of another description, without the title.

    A printed module is left out, since running the reproducer shows it.
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
    """A bug report in Markdown: title, expected and actual behavior, versions, script.

    The title has the tags of TVM's tracker, unless a pass of the user's own was run.
    """
    promise, source = promised(finding)
    sections = {
        "Expected behavior": f"{promise}\n\nSource: {source}",
        "Actual behavior": _actual(finding),
        "Environment": versions(finding),
    }
    tag = "" if any(map(is_users, finding.calls)) else "[Bug][Relax] "
    text = issue_of(f"{tag}{title(finding)}", sections, script)
    return f"{text}\n<!-- relaxfuzz: {finding.oracle}, {finding.id} -->\n"


def issue_of(heading: str, sections: Mapping[str, str], script: str) -> str:
    """A bug report in Markdown, with the sections that TVM's tracker requests.

    Args:
        sections: by heading; empty ones are left out.
        script: Python that shows the bug; empty if there is none.
    """
    code = f"```python\n{script.strip()}\n```" if script else ""
    sections = {**sections, "Steps to reproduce": code}
    parts = [f"### {name}\n\n{text}" for name, text in sections.items() if text]
    return "\n\n".join([f"# {heading}", *parts]) + "\n"


def _actual(finding: Finding) -> str:
    parts = [title(finding)]
    if lines := error_lines(finding, REPORT_LINES):
        parts.append(fenced("\n".join(lines)))
    diff = "" if finding.exhibit is None else finding.exhibit.diff
    if diff and diff.count("\n") < DIFF_LINES:
        parts.append(fenced(diff, "diff"))
    return "\n\n".join(parts)
