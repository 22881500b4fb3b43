"""A finding as the message of a failed test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ..findings.finding import FailedStep, Finding
from ..findings.store import Store
from ..reproducer.description import promised, title, without_own_frames
from .readable import sentence, short_path
from .terminal import clipped

DETAIL = 30
DIFF = 60
MODULE = 80
"""The largest number of lines of each part; the reproducer has all."""

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
    """What it was found in, where the reproducer is, and how to run it again."""
    rare = f", rare: {', '.join(finding.rare)}" if finding.rare else ""
    found = [f"Grade:        {finding.grade}{rare}"]
    found += [f"Made of:      {sentence(piece.name)}" for piece in finding.recipe.pieces]
    path = store.reproducer(finding)
    if path is not None:
        found.append(f"Reproducer:   {short_path(path)}")
    stored = f"{short_path(store.folder)}/{finding.id}"
    found.append(f"See it again: relaxfuzz replay {shlex.quote(stored)}")
    return found + [failed_step(finding, each, store) for each in store.failed_steps(finding.id)]


def failed_step(finding: Finding, failed: FailedStep, store: Store) -> str:
    """What relaxfuzz failed at with a finding that it keeps, and what is needed to mend that."""
    lines = failed.traceback.strip().splitlines()
    return "\n".join(
        [
            f"fault of relaxfuzz at the step {failed.step!r}, without which {finding.id} is kept:",
            f"  {finding.label}, {finding.oracle}: {sentence(finding.title)}",
            f"  module: {short_path(store.module_of(finding, failed))}",
            f"  repeat: {repeat(finding, store)}",
            *(f"  {line}" for line in lines),
        ]
    )


def repeat(finding: Finding, store: Store) -> str:
    """The command that takes a finding through the steps of the triage again."""
    return f"relaxfuzz minimize {shlex.quote(f'{short_path(store.folder)}/{finding.id}')}"


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
