"""Print rows and findings as `relaxfuzz findings` does, without TVM."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from ..findings import listed
from ..findings.listed import Filter, ListedRow, Shown
from ..output.readable import sentence, visible
from ..output.terminal import clipped, columns, counted, graded, results

DIFF = "diff"
"""The format of `show` that is not a reproducer."""

MOST_LINES = 30
"""Most lines of a difference that are printed beside a reproducer."""

SHORTEST = 4
"""The least number of characters of an id that are shown."""


def list_kept(folder: Path, chosen: Filter, *, json: bool) -> int | None:
    """Print the rows that a filter selects; None if this requires the findings themselves.

    Raises:
        UserError: a name in the filter matches nothing in the store.
    """
    listing = None if chosen.unconfirmed else listed.read(folder)
    if listing is None:
        return None
    print_rows(listing.rows, chosen, folder, json=json)
    return 0


def show_kept(folder: Path, id: str, form: str) -> int | None:
    """Print a finding in this format; None if this requires TVM.

    Raises:
        UserError: no such id.
    """
    listing = listed.read(folder)
    if listing is None:
        return None
    # A row is represented by its best finding.
    by_id = {each.id: each.id for row in listing.rows for each in row.findings}
    by_id |= {row.id: row.findings[0].id for row in listing.rows}
    shown = listing.shown.get(listed.find(by_id, id))
    text = None if shown is None else listed.text_of(folder, shown)
    if shown is None or (form == DIFF and not shown.story) or (form != DIFF and text is None):
        return None
    print(shown.about, file=sys.stderr)
    print_shown(shown, None if form == DIFF else text)
    return 0


def print_shown(shown: Shown, text: str | None) -> None:
    """Print a reproducer; if there is none, everything that was compared."""
    if text is not None:
        print_diff(shown)
    print(visible(shown.story if text is None else text))


def print_diff(shown: Shown) -> None:
    """Print the first lines of the difference that the oracle saw."""
    if shown.diff:
        diff = visible(shown.diff).splitlines()
        print(clipped(diff, MOST_LINES, hint=": --format diff"), file=sys.stderr)


def print_rows(rows: Sequence[ListedRow], chosen: Filter, folder: Path, *, json: bool) -> None:
    """Print the rows that a filter selects, as a table or as lines of JSON.

    Raises:
        UserError: a name in the filter matches nothing in the store.
    """
    shown = chosen.selected(rows, folder)
    if json:
        for row in shown:
            print(jsonlib.dumps(row.event), flush=True)
        return
    _print_table(shown, [id for row in rows for id in (row.id, *(f.id for f in row.findings))])
    reports = sum(len(row.findings) for row in shown)
    print(f"{len(shown)} of {len(rows)} rows, {counted(reports, 'report')}.")


def shortest(id: str, ids: Sequence[str]) -> str:
    """The shortest prefix that no other id shares."""
    others = [other for other in ids if other != id]
    for length in range(SHORTEST, len(id)):
        if not any(other.startswith(id[:length]) for other in others):
            return id[:length]
    return id


def _print_table(rows: Sequence[ListedRow], ids: Sequence[str]) -> None:
    names = ("id", "grade", "consequence", "pass", "oracle", "reports", "bindings", "seen")
    table = columns(*names, "status", "what went wrong", numbers=("reports", "bindings"))
    for row in rows:
        note = f"\n{visible(row.note)}" if row.note else ""
        table.add_row(
            Text(sentence(shortest(row.id, ids))),
            graded(row.grade),
            Text(sentence(row.consequence)),
            Text(sentence(", ".join(row.labels))),
            Text(sentence(", ".join(row.oracles))),
            str(len(row.findings)),
            row.bindings,
            Text(sentence(row.seen)),
            Text(sentence(row.state)),
            Text(sentence(row.title)).append(note, style="dim"),
        )
    if rows:
        console = results()
        console.print(table)
        console.print()
