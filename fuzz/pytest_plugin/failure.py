"""What a failed promise looks like in pytest's output, and in JUnit's."""

from __future__ import annotations

import json
import os
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...corpus.knowns import Known
from ..finding import Finding
from ..store import Store
from .items import Shard

INDENT = "    "


def text(finding: Finding, store: Store, shard: Shard, row: str, others: Sequence[str] = ()) -> str:
    """A finding as a failure.

    Args:
        row: the bug that it is a report of.
        others: ids of items that report the same bug of other passes.
    """
    parts = [f"{finding.pass_name}: {finding.title}", _detail(finding)]
    exhibit = finding.exhibit
    if exhibit is not None:
        parts.append(_titled("The module:", exhibit.module))
        if exhibit.diff:
            parts.append(_titled("What was expected, and what happened:", exhibit.diff))
    parts.append("\n".join(_commands(finding, store, shard)))
    if row != finding.id:
        parts.append(f"It is one bug with the finding {row}.")
    if others:
        parts.append(f"The same bug: {', '.join(others)}.")
    return "\n\n".join(filter(None, parts))


def reason(known: Known) -> str:
    """Why a failure is expected: what it is, and where it is told of."""
    return f"{known.what} ({known.upstream[0] if known.upstream else known.name})"


def properties(finding: Finding, store: Store) -> Iterator[tuple[str, str]]:
    """What JUnit's XML says besides of a test that failed."""
    fingerprint = [finding.oracle, finding.pass_name, *finding.fingerprint]
    yield "relaxfuzz.fingerprint", json.dumps(fingerprint, ensure_ascii=False)
    reproducer = store.reproducer(finding)
    if reproducer is not None:
        yield "relaxfuzz.reproducer", str(reproducer)


def _detail(finding: Finding) -> str:
    said = finding.detail.strip()
    return "" if said == finding.title else said


def _titled(title: str, body: str) -> str:
    return f"{title}\n\n{textwrap.indent(body.strip(), INDENT)}"


def _commands(finding: Finding, store: Store, shard: Shard) -> Iterator[str]:
    path = store.reproducer(finding)
    if path is not None:
        yield f"reproducer: {near(path)}"
    yield f"replay:     relaxfuzz replay {shlex.quote(f'{near(store.folder)}/{finding.id}')}"
    if finding.seed is not None and finding.index is not None:
        yield (
            f"run again:  pytest --relaxfuzz {shlex.quote(shard.spelling)} "
            f"--relaxfuzz-seed {finding.seed} --relaxfuzz-modules {finding.index + 1}"
        )


def near(path: Path) -> str:
    """A path as seen from here, where that is shorter."""
    try:
        return min(os.path.relpath(path), str(path), key=len)
    except ValueError:  # another drive
        return str(path)
