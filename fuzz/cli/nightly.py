"""`relaxfuzz nightly`: one run for cron or CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import command
from .options import Given


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz nightly\n\n"
    "  relaxfuzz nightly nightly.toml\n\n"
    "  relaxfuzz nightly nightly.toml --budget 10m --until-first   (for a pull request)"
)
def nightly(
    given: Given,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG.toml",
            help="Passes, budgets, corpora, reports. None: all passes for 1h.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """One run for cron or CI; an interrupted one goes on with its phase.

    Runs corpora and known bugs again, fuzzes for the budget, minimizes findings, groups those of
    one bug, and writes reports. Options win over the file.

    The exit codes are those of `relaxfuzz --help`.
    """
    from ..nightly import night

    return night.run(file, given)
