"""The seeds of a session: the user's, and those that come with relaxfuzz."""

from __future__ import annotations

from collections.abc import Sequence

from ..campaign.seeds import Seeds
from ..loading.seeds import Seed, read_seeds, usable
from ..output.terminal import counted
from ..probe.shipped import NONE, seeds_of
from .session import Session


def seeds(given: Sequence[str], share: float, session: Session) -> tuple[Seeds, ...]:
    """The seeds of a campaign: the user's modules first, if there are any.

    Args:
        given: files, folders and functions.
        share: share of the blocks that have pieces of them.

    Raises:
        UserError: none of them has any pieces.
        ExecutorError: the workers failed.
    """
    own = _read(given, share, session) if given else NONE
    return seeds_of(session.pool, own, session.display.progress)


def _read(given: Sequence[str], share: float, session: Session) -> Seeds:
    """Read the user's modules; print one line for each module without pieces."""
    output = session.output
    read: list[Seed] = []

    def progress(done: int, total: int) -> None:
        output.display.progress(f"{done} of {counted(total, 'seed')} read")

    for seed in read_seeds(given, session.pool, progress):
        read.append(seed)
        if seed.problem is not None:
            event = {"event": "seed", "source": seed.source, "pieces": 0, "problem": seed.problem}
            output.line(f"left out: {seed.problem}", event, "yellow")
    pieces = usable(read)
    used = sum(seed.problem is None for seed in read)
    output.line(
        f"{counted(used, 'seed')} cut into {counted(len(pieces), 'piece')}",
        {"event": "seeds", "read": used, "left_out": len(read) - used, "pieces": len(pieces)},
    )
    wholes = {seed.whole.digest: seed.whole for seed in read if seed.whole is not None}
    return Seeds(pieces, share, tuple(wholes.values()))
