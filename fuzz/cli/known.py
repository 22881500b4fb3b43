"""`relaxfuzz known`: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, cores, finish
from .options import Json, KnownFolders, NoKnown, Workers


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz known\n\n"
    "  relaxfuzz known LiftTransformParams --verify\n\n"
    "  relaxfuzz known --prune"
)
def known(
    passes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Only what is known of these passes, operators, ...",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run their reproducers: do they still fail?")
    ] = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Mark those of DIR that do not fail any more as fixed."),
    ] = False,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """List the bugs that are known of this TVM, which a run counts but does not tell again.

    Exit codes: 0 all fail as they did, 1 one that was run does not, 2 your mistake.
    """

    def command() -> int:
        from ..commands import known as command
        from ..findings.known import Choice

        choice = Choice(folders=tuple(known or ()), shipped=not no_known, prune=prune)
        verified = verify or prune
        return command.run(passes or (), choice, workers or cores(), verified=verified, json=json)

    finish(command)
