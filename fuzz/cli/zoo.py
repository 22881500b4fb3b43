"""`relaxfuzz zoo`: how good is the harness? It checks passes with known faults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, Out, Workers


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz zoo\n\n"
    "  relaxfuzz zoo lift_forgets_returned --seed 3\n\n"
    "  relaxfuzz zoo --budget 20s --modules 50 --json"
)
def zoo(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Only these passes of the zoo.", show_default=False
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long to look for each fault, on one core.")
    ] = "60s",
    modules: Annotated[
        int, typer.Option(min=1, help="How many modules each correct pass gets.")
    ] = 2000,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Use the whole budget on each fault, and count the bugs reported of it."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same modules.")] = 0,
    workers: Workers = None,
    out: Out = Path("relaxfuzz-zoo"),
    json: Json = False,
) -> int:
    """Judge the harness: does it find known faults, and leave correct passes in peace?

    The zoo holds faulty passes, each modelled on a bug of TVM, and correct ones that look
    suspicious. The table says which were found, by which oracle and how fast.
    """
    from ..session.hunt import Budget
    from ..session.zoo import hunt_all
    from ..user_input.errors import parse_budget

    limits = Budget(seed=seed, seconds=parse_budget(budget), modules=modules, whole=whole)
    return hunt_all(names or (), limits, workers=workers or cores(), out=out, as_json=json)
