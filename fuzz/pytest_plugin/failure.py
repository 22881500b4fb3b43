"""What a failed promise looks like in pytest's output, and in JUnit's."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...corpus.knowns import Known
from ..findings.finding import Finding
from ..findings.store import Store
from ..output import failure_text
from .items import Shard


def text(finding: Finding, store: Store, shard: Shard, row: str, others: Sequence[str] = ()) -> str:
    """A finding as a failure.

    Args:
        row: the bug that it is a report of.
        others: ids of items that report the same bug of other passes.
    """
    return failure_text.whole(finding, list(_hints(finding, store, shard, row, others)))


def reason(known: Known) -> str:
    """Why a failure is expected: what it is, and where it is told of."""
    return f"{known.what} ({known.upstream[0] if known.upstream else known.name})"


def properties(finding: Finding, store: Store) -> Iterator[tuple[str, str]]:
    """What JUnit's XML says besides of a test that failed."""
    yield "relaxfuzz.key", json.dumps(finding.full_key, ensure_ascii=False)
    reproducer = store.reproducer(finding)
    if reproducer is not None:
        yield "relaxfuzz.reproducer", str(reproducer)


def _hints(
    finding: Finding, store: Store, shard: Shard, row: str, others: Sequence[str]
) -> Iterator[str]:
    path = store.reproducer(finding)
    if path is not None:
        yield f"Reproducer:   {near(path)}"
    yield f"See it again: relaxfuzz replay {shlex.quote(f'{near(store.folder)}/{finding.id}')}"
    if finding.seed is not None and finding.index is not None:
        yield (
            f"Run it again: pytest --relaxfuzz {shlex.quote(shard.spelling)} "
            f"--relaxfuzz-seed {finding.seed} --relaxfuzz-modules {finding.index + 1}"
        )
    if row != finding.id:
        yield f"One bug with: {row}"
    if others:
        yield f"Also met by:  {', '.join(others)}"


def near(path: Path) -> str:
    """A path as seen from here, where that is shorter."""
    try:
        return min(os.path.relpath(path), str(path), key=len)
    except ValueError:  # another drive
        return str(path)
