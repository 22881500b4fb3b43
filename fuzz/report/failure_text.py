"""A finding as the message of a failed test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ..findings.finding import Finding
from ..findings.store import Store
from ..output.readable import sentence, short_path
from ..output.terminal import clipped
from ..reproducer.description import promised, title, without_own_frames

DETAIL = 30
DIFF = 60
MODULE = 80
"""The largest number of lines in each part; the reproducer has all lines."""

_BRIDGE = re.compile(r'  File "(?:<unknown>|python/tvm_ffi/[^"]*)", line \d+, in ')
"""Frames between Python and C++, which have no source text."""


def headed(finding: Finding) -> str:
    """The title, the promise, and the oracle's description."""
    promise, source = promised(finding)
    return "\n\n".join(
        [
            f"{title(finding)} ({finding.oracle})",
            f"Expected: {promise}\n          {source.partition('; ')[0]}",
            *([detail] if (detail := _detail(finding)) else []),
        ]
    )


def whole(finding: Finding, hints: Sequence[str] = ()) -> str:
    """The whole message, with the difference that the oracle saw, and the module.

    Args:
        hints: last lines: the path of the reproducer, and the command to replay it.
    """
    parts = [headed(finding)]
    shown = finding.exhibit
    if shown is not None:
        if shown.diff:
            parts.append(clipped(shown.diff.splitlines(), DIFF))
        module = clipped(without_imports(shown.module).splitlines(), MODULE)
        parts.append(f"The module:\n\n{module}")
    if hints:
        parts.append("\n".join(hints))
    return "\n\n".join(parts)


def hints(finding: Finding, store: Store) -> list[str]:
    """The seeds of its module, the path of the reproducer, and the command to run it again."""
    found = [f"Grade:        {finding.grade}, {finding.effect}"]
    found += [f"Made of:      {sentence(piece.name)}" for piece in finding.pieces]
    path = store.reproducer(finding)
    if path is not None:
        found.append(f"Reproducer:   {short_path(path)}")
    stored = f"{short_path(store.folder)}/{finding.id}"
    found.append(f"See it again: relaxfuzz replay {shlex.quote(stored)}")
    return found + [fault(finding, each, store.folder) for each in finding.faults]


def fault(finding: Finding, text: str, folder: Path) -> str:
    """A failed step and its traceback, for a finding that is kept without that step."""
    stored = shlex.quote(f"{short_path(folder)}/{finding.id}")
    head = f"fault of relaxfuzz, without which {finding.id} is kept ({finding.label})"
    return f"{head}; repeat: relaxfuzz minimize {stored}\n  at the step {text.strip()}"


def without_imports(script: str) -> str:
    """TVMScript without the comment with its imports."""
    return script.partition("\n\n")[2] if script.startswith("# from ") else script


def _detail(finding: Finding) -> str:
    lines = finding.detail.strip().splitlines()
    if "Traceback (most recent call last)" in finding.detail:
        lines = [line for line in without_own_frames(lines) if not _BRIDGE.match(line)]
        return clipped(lines, DETAIL, end=True)
    lines = finding.detail.strip().partition("\n\n# from tvm.script")[0].splitlines()
    return "" if lines == [finding.title] else clipped(lines, DETAIL)
