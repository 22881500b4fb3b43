"""`relaxfuzz nightly`: one run for cron or CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Block, Cluster, FailOn, Json, Scheduler, Workers


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz nightly\n\n"
    "  relaxfuzz nightly --init          (writes nightly.toml: all settings, explained)\n\n"
    "  relaxfuzz nightly nightly.toml\n\n"
    "  relaxfuzz nightly nightly.toml --budget 10m --until-first   (for a pull request)"
)
def nightly(
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG.toml",
            help="Passes, budgets, corpora, reports. None: all passes for 1h.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long to fuzz: 10m, 8h.")
    ] = None,
    modules: Annotated[int | None, typer.Option(min=1, help="Stop after so many modules.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Default: the number of runs that the folder has seen."),
    ] = None,
    workers: Workers = None,
    block: Block = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where findings are kept. Default: relaxfuzz-out.",
            show_default=False,
        ),
    ] = None,
    until_first: Annotated[
        bool | None,
        typer.Option(
            "--until-first",
            help="Stop at the first new finding of the grade that fails.",
            show_default=False,
        ),
    ] = None,
    fail_on: FailOn = None,
    json: Json = False,
    init: Annotated[
        bool,
        typer.Option("--init", help="Write all settings with their defaults to CONFIG.toml, end."),
    ] = False,
) -> int:
    """One run for cron or CI, resumed where it was interrupted.

    Runs corpora and known bugs again, fuzzes for the budget, minimizes findings, groups those of
    one bug, bisects new ones, and writes reports. Options win over the file.

    Exit codes: 0 nothing new, 1 new findings of grade B or graver (see --fail-on), 2 user error,
    3 relaxfuzz itself failed.
    """
    from ..nightly import night

    if init:
        return night.init(config)
    options = {
        "out": out,
        "budget": budget,
        "modules": modules,
        "seed": seed,
        "workers": workers,
        "block": block,
        "scheduler": scheduler,
        "cluster": cluster,
        "until_first": until_first,
        "fail_on": fail_on,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return night.run(config, given, workers=cores(), json=json)
