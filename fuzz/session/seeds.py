"""The seeds of a session: what is read is told, and what cannot be is named."""

from __future__ import annotations

from collections.abc import Sequence

from ...generators.seeds import Piece
from ..output.terminal import counted
from ..user_input.seeds import Seed, read_seeds, usable
from .session import Session


def pieces_of(given: Sequence[str], session: Session) -> tuple[Piece, ...]:
    """The pieces of the user's modules; one line for each module that gives none.

    Args:
        given: files, folders and functions.

    Raises:
        UserError: none of them gives any.
    """
    if not given:
        return ()
    output = session.output
    seeds: list[Seed] = []

    def progress(done: int, total: int) -> None:
        output.display.progress(f"{done} of {counted(total, 'seed')} read")

    for seed in read_seeds(given, session.pool, progress):
        seeds.append(seed)
        if seed.problem is not None:
            event = {"event": "seed", "source": seed.source, "pieces": 0, "problem": seed.problem}
            output.line(f"left out: {seed.problem}", event, "yellow")
    pieces = usable(seeds)
    read = sum(seed.problem is None for seed in seeds)
    output.line(
        f"{counted(read, 'seed')} cut into {counted(len(pieces), 'piece')}",
        {"event": "seeds", "read": read, "left_out": len(seeds) - read, "pieces": len(pieces)},
    )
    return pieces
