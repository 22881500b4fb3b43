"""`relaxfuzz check`: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, cores, finish
from .options import (
    OUT,
    Exempt,
    Json,
    KnownFolders,
    KnownUpdate,
    Like,
    Module,
    NoKnown,
    Oracles,
    Out,
    Passes,
    Workers,
)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz check model.json\n\n"
    "  relaxfuzz check model.py FuseOps 'ConvertToDataflow(min_size=1)'\n\n"
    "  relaxfuzz check model.py --pipeline default"
)
def check(
    module: Module,
    passes: Passes = None,
    pipeline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="zero, default or cpu_generic: check after each step, blame the first bad one.",
        ),
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="STAGE",
            help="The stage that the module is at: which passes are at home there.",
        ),
    ] = "raw",
    workers: Workers = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    like: Like = None,
    exempt: Exempt = None,
) -> None:
    """Check passes, or a pipeline, on a module of yours."""

    def command() -> int:
        from ..commands import check as command
        from ..findings.known import Choice
        from ..user_input.options import Relaxations

        return command.run(
            command.Request(
                module=module,
                passes=tuple(passes or ()),
                pipeline=pipeline,
                stage=at,
                workers=workers or cores(),
                oracles=tuple(oracle) if oracle else None,
                out=out,
                json=json,
                knowns=Choice(
                    folders=tuple(known or ()), shipped=not no_known, update=known_update
                ),
                relaxations=Relaxations(
                    like=like,
                    exempt=tuple(exempt or ()),
                ),
            )
        )

    finish(command)
