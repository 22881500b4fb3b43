"""`relaxfuzz findings` and what it can do with a store: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from .app import app, finish
from .options import OUT, Oracles, Out


class _ListFirst(typer.core.TyperGroup):
    """A group of commands, of which `list` need not be named: `relaxfuzz findings DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


findings = typer.Typer(
    cls=_ListFirst,
    help="List the bugs of a store, one a row, show them, say what you think of them.\n\n"
    "Findings that are one bug are one row, whatever passes and oracles they came through; "
    "`show` says why. An ID is that of a row or finding, or the beginning of one.",
    epilog="Examples:\n\n"
    "  relaxfuzz findings\n\n"
    "  relaxfuzz findings relaxfuzz-out --pass LegalizeOps --new\n\n"
    "  relaxfuzz findings show 3f2a --format issue\n\n"
    "  relaxfuzz findings merge 3f2a 77c0\n\n"
    "  relaxfuzz findings verdict 3f2a wontfix",
)
app.add_typer(findings, name="findings")

Id = Annotated[str, typer.Argument(metavar="ID", help="Of a row or finding, or its beginning.")]


@findings.command("list")
def list_findings(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", show_default=False)] = OUT,
    pass_: Annotated[
        list[str] | None,
        typer.Option("--pass", metavar="NAME", help="Only of this pass; may be repeated."),
    ] = None,
    oracle: Oracles = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Only with this verdict; may be repeated."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Only what nobody judged or knows.")] = False,
    unconfirmed: Annotated[
        bool,
        typer.Option(
            "--unconfirmed",
            help="Instead: what did not come out again, or was met on modules that only "
            "minimization made, which may lack what the pass is entitled to.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a row.")] = False,
) -> None:
    """List the rows of DIR, one for each bug. `list` may be left out."""

    def command() -> int:
        from ..commands import findings as command

        chosen = command.Filter(
            passes=tuple(pass_ or ()),
            oracles=tuple(oracle or ()),
            verdicts=tuple(verdict or ()),
            new=new,
            unconfirmed=unconfirmed,
        )
        return command.listing(folder, chosen, json=json)

    finish(command)


@findings.command("show")
def show_finding(
    id: Id,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="source, tvmscript, issue or diff.")
    ] = "source",
    out: Out = OUT,
) -> None:
    """Print a reproducer; what else is known goes to stderr.

    The one in the store was seen to fail when it was kept, and is not run. Where there is none, or
    with --format tvmscript or issue, one is made from the finding and run, in a process of its own.
    With --format diff: what the oracle compared, e.g. the module before and after the pass; a
    store of an older relaxfuzz lacks it, and the passes are run once more.
    """

    def command() -> int:
        from ..commands import findings as command

        return command.show(out, id, form)

    finish(command)


@findings.command("merge")
def merge_findings(
    ids: Annotated[list[str], typer.Argument(metavar="ID ID...", show_default=False)],
    out: Out = OUT,
) -> None:
    """Make one row of several, for good: later runs keep to it."""

    def command() -> int:
        from ..commands import findings as command

        return command.merge(out, ids)

    finish(command)


@findings.command("split")
def split_finding(id: Id, out: Out = OUT) -> None:
    """Make a row of its own of a finding, for good: later runs keep to it."""

    def command() -> int:
        from ..commands import findings as command

        return command.split(out, id)

    finish(command)


@findings.command("note")
def note_finding(
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="An empty one takes it back.")],
    out: Out = OUT,
) -> None:
    """Write a note to a row."""

    def command() -> int:
        from ..commands import findings as command

        return command.judge(out, id, note=text)

    finish(command)


@findings.command("verdict")
def judge_finding(
    id: Id,
    verdict: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="true, false, wontfix, reported, fixed or unclear; an empty one takes it back.",
        ),
    ],
    out: Out = OUT,
) -> None:
    """Say what a row is."""

    def command() -> int:
        from ..commands import findings as command

        return command.judge(out, id, verdict=verdict)

    finish(command)
