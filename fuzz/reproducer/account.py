"""What a finding says in words: title, promise, versions, what was seen."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from ...oracles.check import ORACLES
from ...oracles.violation import KEY_FORMAT
from ..findings.finding import Finding
from ..output.readable import sentence
from ..process.protocol import Death

_DEATH_PROMISE = (
    "A pass transforms a module or raises an error; it never takes the process with it.",
    "docs/contribute/error_handling.rst: 'TVM contains structured error classes to indicate "
    "specific types of error'",
)

_CHANGE_PROMISE = (
    "A pass gives a module for a module, and leaves its process as it found it.",
    "docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'",
)

_PACKAGES = re.compile(r'"[^"\n]*/site-packages/')
"""Where this machine keeps its packages: no business of a bug report's reader."""

_HERE = str(Path(__file__).parents[2])

USES_OURS = "from relaxfuzz import "

WIDTH = 99
SEEN = 3
"""Lines of what was seen: the file shows the rest to whoever runs it."""

SAME = 60
"""Characters by which the title is known to say it: it may be cut off."""

FALLEN_BACK = "By constructor calls: TVMScript does not give this module, or does not show the bug."


def header(finding: Finding, check: str, *, note: str = "") -> str:
    """The comment at the head of a file."""
    promise, source = promised(finding)
    lines = [
        *textwrap.wrap(title(finding), WIDTH)[:2],
        # A report names all sources; one is enough to look it up.
        *textwrap.wrap(f"Expected: {promise} ({source.partition('; ')[0]})", WIDTH),
        f"Finding {finding.id} ({finding.oracle}, key format {KEY_FORMAT}), "
        f"seen with {versions(finding)}",
    ]
    if USES_OURS in check:
        lines.append("It needs relaxfuzz, besides TVM and NumPy: compiled code hides the bug.")
    lines += [note] if note else []
    lines += [f"  {line[:WIDTH]}" for line in seen(finding, SEEN)]
    # What others have written stays in its comment: a line that it breaks would be code.
    return "\n".join(f"# {sentence(line)}".rstrip() for line in lines)


def title(finding: Finding) -> str:
    """The pass and what is wrong, in one line."""
    return f"{finding.pass_name}: {finding.title}"


def promised(finding: Finding) -> tuple[str, str]:
    """What was to be expected, and who says so."""
    if finding.oracle == Death.CHANGED:
        return _CHANGE_PROMISE
    if finding.oracle not in ORACLES:
        return _DEATH_PROMISE
    oracle = ORACLES[finding.oracle]
    return oracle.promise, oracle.source


def versions(finding: Finding) -> str:
    """What the finding was seen with, in one line."""
    names = {"tvm": "TVM", "tvm_git": "git", "tvm_ffi": "tvm-ffi", "numpy": "NumPy"}
    names["python"] = "Python"
    told = [
        f"{name} {finding.versions[key]}"
        for key, name in names.items()
        if finding.versions.get(key, "unknown") != "unknown"
    ]
    if finding.first_bad is not None:
        told.append(f"first bad version: {finding.first_bad}")
    return ", ".join(told)


def seen(finding: Finding, most: int) -> list[str]:
    """The last words of an exception, or the first of another account, unless the title has them.

    A printed module is left out: whoever runs the file can print it.
    """
    detail = _PACKAGES.sub('"', finding.detail).strip()
    if "Traceback (most recent call last)" in detail:
        # What stands behind the frames is not indented.
        lines = without_own_frames(detail.splitlines())
        start = max(i for i, line in enumerate(lines) if line.startswith(("  File", "Traceback")))
        words = [line for line in lines[start + 1 :] if line and not line.startswith("   ")]
    else:
        words = [line for line in detail.partition("\n\n")[0].splitlines() if line.strip("# ")]
        words = [line for line in words if not line.lstrip().startswith("# from ")]
    words = [re.sub(r"^(?:\w+\.)+(?=[A-Z])", "", line) for line in words]
    if words and words[0][:SAME] in title(finding):
        words = words[1:]
    return words[:most]


def without_own_frames(lines: list[str]) -> list[str]:
    """A traceback without the frames of relaxfuzz: they tell nothing of the bug."""
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
