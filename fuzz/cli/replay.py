"""`relaxfuzz replay`: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, cores, finish
from .options import Json, Workers


@app.command(
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
            help="A folder of findings, one finding of it (DIR/ID), reproducer files, or a corpus.",
        ),
    ],
    workers: Workers = None,
    json: Json = False,
) -> None:
    """See findings again: which of them still fail?

    This executes what they name, in processes of their own: passes, and reproducers.
    A store of somebody else's may name anything (docs/security.md).

    Files of a corpus say on which versions of TVM they fail, and how.
    They are compared with that: what is fixed or changed is to be looked at.

    Exit codes: 0 all is gone, or as the corpus says; 1 a finding still fails,
    or a file of a corpus is fixed or changed; 2 something cannot be run.
    """

    def command() -> int:
        from ..commands import replay as command

        return command.run(paths, workers or cores(), json=json)

    finish(command)
