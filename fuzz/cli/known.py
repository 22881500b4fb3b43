"""`relaxfuzz known`: write records of known bugs anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..output.events import emit
from ..system.limits import cores
from ..user_input.settings import Settings
from .app import command


@command(
    epilog="Examples:\n\n  relaxfuzz known --renew relaxfuzz-known\n\n  relaxfuzz known --prune"
)
def known(
    given: Settings,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Prune only bugs of these passes.", show_default=False
        ),
    ] = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Verify your own known bugs; mark those that no longer fail as fixed."
        ),
    ] = False,
    renew: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run the reproducers of a folder of known bugs, and write their identities anew.",
        ),
    ] = None,
) -> int:
    """Write your own records of known bugs anew; `relaxfuzz list known` lists known bugs.

    Exit codes: 0 done, 1 --renew could not renew a record, 2 user error.
    """
    from ...compat.release import versions
    from ..findings import known as knowns
    from ..system.errors import UserError
    from .lists import NO_LONGER_FAILS, status_of, verified

    if prune == (renew is not None):
        raise UserError("expected --prune or --renew DIR; `relaxfuzz list known` lists known bugs")
    if renew is not None:
        return _renew(renew, given.workers or cores(), as_json=given.json)
    expected = knowns.Choice(folders=given.known).load(versions()["tvm"])
    own = [each for each in expected.own if not names or not each.passes.isdisjoint(names)]
    outcomes = verified(own, given.workers or cores())
    gone = [each for each in own if status_of(outcomes.get(each)) == NO_LONGER_FAILS]
    for each in gone:
        print(knowns.prune(each, expected.version), file=sys.stderr)
    print(f"{len(gone)} of {len(own)} known bugs no longer fail on TVM {expected.version}")
    return 0


def _renew(folder: Path, workers: int, *, as_json: bool) -> int:
    from ..process.local_pool import LocalPool
    from ..renewal.records import renewed

    kept = 0
    with LocalPool(workers) as pool:
        for each in renewed(folder, pool):
            kept += each.why_not != ""
            if as_json:
                event = {"event": "renewed", "name": each.name, "why_not": each.why_not}
                emit(event)
            elif each.why_not:
                print(f"{each.name}: not renewed: {each.why_not}")
    return int(kept > 0)
