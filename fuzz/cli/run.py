"""`relaxfuzz run`: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, cores, finish
from .options import (
    OUT,
    Block,
    Cluster,
    Exempt,
    Json,
    KnownFolders,
    KnownUpdate,
    Like,
    NoKnown,
    Oracles,
    Out,
    Passes,
    Scheduler,
    Stages,
    Workers,
)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz run\n\n"
    "  relaxfuzz run FuseOps FuseTIR --budget 5m --seed 1\n\n"
    "  relaxfuzz run 'FuseOps(fuse_opt_level=2)' --modules 200\n\n"
    "  relaxfuzz run my_passes.py:make_pass --stage legalized --exempt idempotent\n\n"
    "  relaxfuzz run --scheduler tcp://10.0.0.7:8786 --budget 8h"
)
def run(
    passes: Passes = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long to fuzz: 90s, 5m, 1h. Default: 60s."),
    ] = None,
    modules: Annotated[int | None, typer.Option(min=1, help="Stop after so many modules.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same modules.")
    ] = None,
    workers: Workers = None,
    block: Block = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    like: Like = None,
    stage: Stages = None,
    exempt: Exempt = None,
) -> None:
    """Generate modules and check passes on them until the budget is used up."""

    def command() -> int:
        from ..cluster.where import asked
        from ..commands import run as command
        from ..findings.known import Choice
        from ..user_input.options import Relaxations

        return command.run(
            command.Request(
                passes=tuple(passes or ()),
                budget=budget,
                modules=modules,
                seed=seed,
                workers=workers or cores(),
                block=block,
                where=asked(scheduler, cluster),
                oracles=tuple(oracle) if oracle else None,
                out=out,
                json=json,
                knowns=Choice(
                    folders=tuple(known or ()),
                    shipped=not no_known,
                    update=known_update,
                ),
                relaxations=Relaxations(
                    like=like,
                    stages=tuple(stage or ()),
                    exempt=tuple(exempt or ()),
                ),
            )
        )

    finish(command)
