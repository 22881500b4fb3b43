"""`relaxfuzz replay`: which findings still fail, and is a corpus as expected?"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..findings import executable_text
from ..findings.replay import EXPECTED, Outcome, Status, items, replay
from ..output.readable import sentence
from ..output.terminal import columns, display, results
from ..process.local_pool import LocalPool


def run(paths: Sequence[Path], workers: int, *, json: bool) -> int:
    """See everything again.

    Returns:
        1 if a finding still fails or a file of a corpus is not as its header says, else 2 if
        anything cannot be run, else 0.

    Raises:
        Mistake: a path names no finding.
        ExecutorError: the workers cannot be kept alive.
    """
    unread: list[str] = []
    todo = [item for path in paths for item in items(path, unread.append)]
    said = executable_text.told(item.finding for item in todo if item.finding is not None)
    for line in filter(None, (*unread, sentence(said))):
        print(line, file=sys.stderr)
    outcomes: list[Outcome] = []
    with (
        LocalPool(workers) if any(item.finding for item in todo) else nullcontext() as pool,
        ThreadPoolExecutor(workers) as threads,
        closing(display(Console(stderr=True))) as progress,
    ):
        for done in as_completed([threads.submit(replay, item, pool) for item in todo]):
            outcomes.append(done.result())
            progress.progress(f"{len(outcomes)} of {len(todo)}  {_counted(outcomes)}")
            if json:
                print(jsonlib.dumps(_event(outcomes[-1])), flush=True)
    if json:
        counts = {status.name.lower(): _count(outcomes, status) for status in Status}
        print(jsonlib.dumps({"event": "summary", **counts}))
    else:
        _table(outcomes)
        print(_counted(outcomes))
    if any(outcome.status not in EXPECTED | {Status.BROKEN} for outcome in outcomes):
        return 1
    return 2 if unread or _count(outcomes, Status.BROKEN) else 0


def _count(outcomes: Sequence[Outcome], status: Status) -> int:
    return sum(outcome.status is status for outcome in outcomes)


def _counted(outcomes: Sequence[Outcome]) -> str:
    counts = {status: _count(outcomes, status) for status in Status}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def _event(outcome: Outcome) -> dict[str, object]:
    finding, entry = outcome.item.finding, outcome.item.entry
    about = finding or entry
    return {
        "event": "replay",
        "path": str(outcome.item.path),
        "id": None if finding is None else finding.id,
        "pass": None if about is None else about.pass_name,
        "oracle": None if about is None else about.oracle,
        "title": None if finding is None else finding.title,
        "status": outcome.status.name.lower(),
        "said": outcome.said,
    }


def _table(outcomes: Sequence[Outcome]) -> None:
    table = columns("status", "id", "finding", "said", whole=("status", "id"))
    # What has to be looked at comes last, where it is seen.
    order = list(Status)
    for outcome in sorted(outcomes, key=lambda o: (order.index(o.status), o.item.path)):
        finding = outcome.item.finding
        # What it says is news only where the finding's own title does not say it.
        said = "" if finding is not None and finding.title == outcome.said else outcome.said
        table.add_row(
            str(outcome.status),
            "" if finding is None else finding.id,
            Text(sentence(outcome.item.name)),
            Text(sentence(said)),
        )
    results().print(table)
