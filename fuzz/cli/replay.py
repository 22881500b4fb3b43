"""`relaxfuzz replay`: do findings and reproducers still fail?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output.events import emit
from ..system.limits import cores
from ..user_input.settings import Settings
from .app import command

if TYPE_CHECKING:
    from ..reproducer.replay import ReplayOutcome


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz replay\n\n"
    "  relaxfuzz replay relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz replay relaxfuzz-out/reproducers/*.py\n\n"
    "  relaxfuzz replay corpus/"
)
def replay(
    given: Settings,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="A folder of findings, one of its findings (DIR/ID), reproducer files, or a "
            "corpus. Default: that of --out.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Run findings again: which of them still fail?

    This executes the passes and reproducers that they name, in processes of their own.
    A store from somebody else may name anything (docs/security.md).

    The files of a corpus say on which versions of TVM they fail, and how. A file that behaves
    otherwise is reported as fixed or changed.

    Exit codes: 0 no finding fails any more, and the corpus behaves as it says; 1 a finding still
    fails, or a file of a corpus is fixed or changed; 2 something cannot be run; 4 there is
    nothing to replay.
    """
    import sys
    from concurrent.futures import ThreadPoolExecutor, as_completed
    from contextlib import closing, nullcontext

    from rich.console import Console

    from ..findings import executable_text
    from ..output.readable import sentence
    from ..output.terminal import display
    from ..process.local_pool import LocalPool
    from ..reproducer.replay import EXPECTED, ReplayStatus, items, replay
    from ..session.silences import NOTHING_COMPARED

    workers = given.workers or cores()
    unread: list[str] = []
    todo = [item for path in paths or [given.out] for item in items(path, unread.append)]
    warning = executable_text.warning(item.finding for item in todo if item.finding is not None)
    for line in filter(None, (*unread, sentence(warning))):
        print(line, file=sys.stderr)
    outcomes: list[ReplayOutcome] = []
    with (
        LocalPool(workers) if any(item.finding for item in todo) else nullcontext() as pool,
        ThreadPoolExecutor(workers) as threads,
        closing(display(Console(stderr=True))) as progress,
    ):
        for done in as_completed([threads.submit(replay, item, pool) for item in todo]):
            outcomes.append(done.result())
            progress.progress(f"{len(outcomes)} of {len(todo)}  {_summary(outcomes)}")
            if given.json:
                emit(_event(outcomes[-1]))
    statuses = [outcome.status for outcome in outcomes]
    if given.json:
        counts = {status.name.lower(): statuses.count(status) for status in ReplayStatus}
        emit({"event": "summary", **counts})
    else:
        _print_table(outcomes)
        print(_summary(outcomes) or "nothing to replay")
    if any(status not in EXPECTED | {ReplayStatus.BROKEN} for status in statuses):
        return 1
    if unread or ReplayStatus.BROKEN in statuses:
        return 2
    return 0 if statuses else NOTHING_COMPARED


def _summary(outcomes: Sequence[ReplayOutcome]) -> str:
    from ..reproducer.replay import ReplayStatus

    statuses = [outcome.status for outcome in outcomes]
    return ", ".join(f"{statuses.count(each)} {each}" for each in ReplayStatus if each in statuses)


def _event(outcome: ReplayOutcome) -> dict[str, object]:
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


def _print_table(outcomes: Sequence[ReplayOutcome]) -> None:
    from rich.text import Text

    from ..output.readable import sentence
    from ..output.terminal import columns, results
    from ..reproducer.replay import ReplayStatus

    table = columns("status", "id", "finding", "message", whole=("status", "id"))
    # Outcomes that need attention come last, next to the prompt.
    order = list(ReplayStatus)
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
