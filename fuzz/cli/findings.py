"""`relaxfuzz findings`: list the bugs of a store, show them, and record verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from ...oracles.grades.grade import Grade
from ..findings.listed import Filter
from ..user_input.settings import Settings
from .app import app, command
from .options import to_read


class _ListByDefault(typer.core.TyperGroup):
    """Runs `list` where no command is named: `relaxfuzz findings DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


findings = typer.Typer(
    name="findings",
    cls=_ListByDefault,
    help="List the bugs of a folder of findings, show them, and record verdicts on them.\n\n"
    "Findings of the same bug are one row, whichever passes and oracles reported it; `show` gives "
    "the reason. An ID is that of a row or a finding, or the beginning of one.",
    epilog="Examples:\n\n"
    "  relaxfuzz findings\n\n"
    "  relaxfuzz findings relaxfuzz-out --pass LegalizeOps --new\n\n"
    "  relaxfuzz findings show 3f2a --format issue\n\n"
    "  relaxfuzz findings merge 3f2a 77c0\n\n"
    "  relaxfuzz findings verdict 3f2a wontfix\n\n"
    "  relaxfuzz findings join machine-1 machine-2 --out both\n\n"
    "  relaxfuzz findings known 3f2a fuse-ops-constant-argument",
)
app.add_typer(findings)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a row or a finding, or its beginning.")
]


def _filter(
    pass_: Sequence[str] | None,
    oracle: Sequence[str] | None,
    verdict: Sequence[str] | None,
    new: bool,
    grade: Grade,
    unconfirmed: bool,
) -> Filter:
    return Filter(
        passes=tuple(pass_ or ()),
        oracles=tuple(oracle or ()),
        verdicts=tuple(verdict or ()),
        new=new,
        grade=grade,
        unconfirmed=unconfirmed,
    )


def _list_kept(given: Settings, folder: Path | None, **conditions: Any) -> int | None:
    from ..report.listing import list_kept

    if given.redact:
        return None
    return list_kept(folder or given.out, _filter(**conditions), json=given.json)


@command("list", of=findings, early=_list_kept)
def list_findings(
    given: Settings,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="That of --out.", show_default=False)
    ] = None,
    pass_: Annotated[
        list[str] | None,
        typer.Option("--pass", metavar="NAME", help="Only of this pass; may be repeated."),
    ] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only of this oracle; may be repeated."),
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Only with this verdict; may be repeated."),
    ] = None,
    new: Annotated[
        bool,
        typer.Option(
            "--new", help="Only rows without a verdict that are no known bugs, not even perhaps."
        ),
    ] = False,
    grade: Annotated[
        Grade, typer.Option(metavar="A|B|C", help="Only rows of this grade and graver ones.")
    ] = Grade.C,
    unconfirmed: Annotated[
        bool,
        typer.Option(
            "--unconfirmed",
            help="List unconfirmed findings instead: those that did not come out again.",
        ),
    ] = False,
) -> int:
    """List the rows of DIR, one for each bug, by grade. `list` may be left out."""
    from ..report.rows import list_rows

    chosen = _filter(pass_, oracle, verdict, new, grade, unconfirmed)
    return list_rows(to_read(folder or given.out, given), chosen, json=given.json)


def _show_kept(given: Settings, id: str, form: str) -> int | None:
    from ..report.listing import show_kept

    return None if given.redact else show_kept(given.out, id, form)


@command("show", of=findings, early=_show_kept)
def show_finding(
    id: Id,
    given: Settings,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="tvmscript, source, issue or diff.")
    ] = "tvmscript",
) -> int:
    """Print a reproducer to stdout, and a description of the finding to stderr.

    A reproducer of the store was seen to fail when it was written, and is not run. Where there is
    none, or with --format source or issue, one is made from the finding and run in a process of
    its own. With --format diff: what the oracle compared, e.g. the module before and after the
    pass. The store of an older relaxfuzz lacks it; then the passes are run once more.
    """
    from ..report import rows

    return rows.show(to_read(given.out, given), id, form)


@command("merge", of=findings)
def merge_findings(
    ids: Annotated[list[str], typer.Argument(metavar="ID ID...", show_default=False)],
    given: Settings,
) -> int:
    """Merge several rows into one, permanently: later runs keep to it."""
    from ..report import rows

    return rows.merge(given.out, ids)


@command("split", of=findings)
def split_finding(id: Id, given: Settings) -> int:
    """Move a finding into a row of its own, permanently: later runs keep to it."""
    from ..report import rows

    return rows.split(given.out, id)


@command("join", of=findings)
def join_findings(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of findings; they stay as is.")
    ],
    given: Settings,
) -> int:
    """Join the findings of several folders in that of --out, with one row for each bug.

    The runs are joined as well, and what people decided: merged and split rows, verdicts, notes.
    """
    from ..report import rows

    return rows.join(given.out, folders)


@command("note", of=findings)
def note_finding(
    id: Id,
    given: Settings,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="An empty text removes the note.")],
) -> int:
    """Write a note on a row."""
    from ..report import rows

    return rows.judge(given.out, id, note=text)


@command("verdict", of=findings)
def judge_finding(
    id: Id,
    given: Settings,
    verdict: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="true, false, wontfix, reported, fixed or unclear; an empty word removes the "
            "verdict.",
        ),
    ],
) -> int:
    """Record a verdict on a row."""
    from ..report import rows

    return rows.judge(given.out, id, verdict=verdict)


@command("known", of=findings)
def known_finding(
    id: Id,
    given: Settings,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A known bug, as `relaxfuzz list known` lists it.")
    ],
) -> int:
    """Record that a row is a known bug in other words: no later run reports it again.

    The record gets the identities of the row's findings. It is
    written to the folder of --known, or to relaxfuzz-known; the records that come with relaxfuzz
    stay as they are.
    """
    from ..findings.known import Choice
    from ..report import rows

    return rows.add_to_known(given.out, id, name, Choice(folders=given.known, update=True))
