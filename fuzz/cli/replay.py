"""`relaxfuzz replay`: do findings and reproducers still fail?"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, Workers

if TYPE_CHECKING:
    from ..findings.replay import Outcome


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz replay relaxfuzz-out\n\n"
    "  relaxfuzz replay relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz replay relaxfuzz-out/reproducers/*.py\n\n"
    "  relaxfuzz replay corpus/"
)
def replay(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder of findings, one of its findings (DIR/ID), reproducer files, or a "
            "corpus.",
        ),
    ],
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Run findings again: which of them still fail?

    This executes the passes and reproducers that they name, in processes of their own.
    A store from somebody else may name anything (docs/security.md).

    The files of a corpus say on which versions of TVM they fail, and how. A file that behaves
    otherwise is reported as fixed or changed.

    Exit codes: 0 no finding fails any more, and the corpus behaves as it says; 1 a finding still
    fails, or a file of a corpus is fixed or changed; 2 something cannot be run.
    """
    import sys
    from concurrent.futures import ThreadPoolExecutor, as_completed
    from contextlib import closing, nullcontext

    from rich.console import Console

    from ..findings import executable_text
    from ..findings.replay import EXPECTED, Status, items, replay
    from ..output.readable import sentence
    from ..output.terminal import display
    from ..process.local_pool import LocalPool

    workers = workers or cores()
    unread: list[str] = []
    todo = [item for path in paths for item in items(path, unread.append)]
    warning = executable_text.warning(item.finding for item in todo if item.finding is not None)
    for line in filter(None, (*unread, sentence(warning))):
        print(line, file=sys.stderr)
    outcomes: list[Outcome] = []
    with (
        LocalPool(workers) if any(item.finding for item in todo) else nullcontext() as pool,
        ThreadPoolExecutor(workers) as threads,
        closing(display(Console(stderr=True))) as progress,
    ):
        for done in as_completed([threads.submit(replay, item, pool) for item in todo]):
            outcomes.append(done.result())
            progress.progress(f"{len(outcomes)} of {len(todo)}  {_summary(outcomes)}")
            if json:
                print(jsonlib.dumps(_event(outcomes[-1])), flush=True)
    statuses = [outcome.status for outcome in outcomes]
    if json:
        counts = {status.name.lower(): statuses.count(status) for status in Status}
        print(jsonlib.dumps({"event": "summary", **counts}))
    else:
        _print_table(outcomes)
        print(_summary(outcomes))
    if any(status not in EXPECTED | {Status.BROKEN} for status in statuses):
        return 1
    return 2 if unread or Status.BROKEN in statuses else 0


def _summary(outcomes: Sequence[Outcome]) -> str:
    from ..findings.replay import Status

    statuses = [outcome.status for outcome in outcomes]
    return ", ".join(f"{statuses.count(each)} {each}" for each in Status if each in statuses)


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
        "message": outcome.message,
    }


def _print_table(outcomes: Sequence[Outcome]) -> None:
    from rich.text import Text

    from ..findings.replay import Status
    from ..output.readable import sentence
    from ..output.terminal import columns, results

    table = columns("status", "id", "finding", "message", whole=("status", "id"))
    # What needs attention comes last, next to the prompt.
    order = list(Status)
    for outcome in sorted(outcomes, key=lambda o: (order.index(o.status), o.item.path)):
        finding = outcome.item.finding
        is_title = finding is not None and finding.title == outcome.message
        table.add_row(
            str(outcome.status),
            "" if finding is None else finding.id,
            Text(sentence(outcome.item.name)),
            Text("" if is_title else sentence(outcome.message)),
        )
    results().print(table)
