"""`relaxfuzz replay`: which findings still fail?"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..executor import LocalPool
from ..replay import Outcome, Status, items, replay


def run(paths: Sequence[Path], workers: int, *, json: bool) -> int:
    """See everything again; 1 if anything still fails, else 2 if anything cannot be run.

    Raises:
        Mistake: a path names no finding.
        ExecutorError: the workers cannot be kept alive.
    """
    todo = [item for path in paths for item in items(path)]
    outcomes: list[Outcome] = []
    with LocalPool(workers) as pool, ThreadPoolExecutor(workers) as threads:
        for outcome in threads.map(lambda item: replay(item, pool), todo):
            outcomes.append(outcome)
            if json:
                print(jsonlib.dumps(_event(outcome)), flush=True)
    counts = {status: sum(o.status is status for o in outcomes) for status in Status}
    if json:
        print(jsonlib.dumps({"event": "summary", **{s.name.lower(): n for s, n in counts.items()}}))
    else:
        _table(outcomes)
        print(", ".join(f"{count} {status}" for status, count in counts.items()))
    if counts[Status.FAILS]:
        return 1
    return 2 if counts[Status.BROKEN] else 0


def _event(outcome: Outcome) -> dict[str, object]:
    finding = outcome.item.finding
    return {
        "event": "replay",
        "path": str(outcome.item.path),
        "id": None if finding is None else finding.id,
        "pass": None if finding is None else finding.pass_name,
        "oracle": None if finding is None else finding.oracle,
        "title": None if finding is None else finding.title,
        "status": outcome.status.name.lower(),
        "said": outcome.said,
    }


def _table(outcomes: Sequence[Outcome]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("status", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("finding", overflow="fold")
    table.add_column("said", overflow="fold")
    for outcome in outcomes:
        finding = outcome.item.finding
        # What it says is news only where the finding's own title does not say it.
        said = "" if finding is not None and finding.title == outcome.said else outcome.said
        table.add_row(
            str(outcome.status),
            "" if finding is None else finding.id,
            Text(outcome.item.name),
            Text(said),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
