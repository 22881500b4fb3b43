"""`relaxfuzz check`: check passes, or a pipeline, on a module of the user's."""

from __future__ import annotations

from typing import Annotated

import typer

from ...compat import weights
from ..system.limits import cores
from ..user_input.errors import parse_budget
from ..user_input.options import CHECK_BUDGET
from .app import command
from .options import (
    OUT,
    Exempt,
    Json,
    KnownFolders,
    KnownUpdate,
    Like,
    Loud,
    Module,
    NoKnown,
    Oracles,
    Out,
    Passes,
    Workers,
)


@command(
    ends_soon=True,
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz check model.json\n\n"
    "  relaxfuzz check model.py FuseOps 'ConvertToDataflow(min_size=1)'\n\n"
    "  relaxfuzz check model.py --pipeline default",
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
        str | None,
        typer.Option(
            "--at",
            metavar="STAGE",
            help="The stage that the module is at: which passes are at home there. Default: found "
            "from its functions, raw if it has Relax functions, and those of its PrimFuncs.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="The time of the whole command (30s, 10m). The default build and its passes come "
            "first; checks that it does not suffice for are listed.",
        ),
    ] = CHECK_BUDGET,
    workers: Workers = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    like: Like = None,
    exempt: Exempt = None,
    loud: Loud = None,
) -> int:
    """Check passes, or a pipeline, on a module of yours."""
    from ..process.local_pool import LocalPool
    from ..system.environment import HERE

    seconds = parse_budget(budget)
    environment, everything = HERE, False
    if loud:
        from ..session.silences import lifts_known, loud_environment, loud_rules

        environment = loud_environment(loud_rules(tuple(loud)))
        everything = lifts_known(loud)
    with (
        weights.kept_in(out / weights.FOLDER),
        LocalPool(workers or cores(), wait=False, environment=environment) as pool,
    ):
        weights.install()
        # These take as long as the workers take to start.
        from ..findings.known import Choice
        from ..session.checking import check_module
        from ..user_input.options import Relaxations

        return check_module(
            module,
            tuple(passes or ()),
            pipeline=pipeline,
            stage=at,
            oracles=tuple(oracle) if oracle else None,
            own=Relaxations(like=like, exempt=tuple(exempt or ())),
            pool=pool,
            out=out,
            knowns=Choice(
                folders=tuple(known or ()),
                shipped=not (no_known or everything),
                update=known_update,
            ),
            as_json=json,
            seconds=seconds,
        )
