"""Blocks that are partly made of the user's modules."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from ...generators.seeds import Piece
from ..output.readable import sentence
from ..process.targets import Recipe
from .draw import entropy

PIECES = 6
"""Pieces that the modules of one block are made of."""


def with_pieces(
    made: Recipe, pieces: Sequence[Piece], share: float, seed: int, number: int
) -> Recipe:
    """What a block is made of, with pieces of real modules in a share of the blocks.

    Args:
        share: from 0 to 1.
        seed: of the campaign.
        number: of the block. The blocks take the pieces in turn, in an order that depends on the
            seed.
    """
    if not pieces or Random(entropy("seeds", seed, number)).random() >= share:
        return made
    order = list(pieces)
    Random(entropy("pieces", seed)).shuffle(order)
    chosen = [order[(number * PIECES + at) % len(order)] for at in range(min(PIECES, len(order)))]
    return dataclasses.replace(made, pieces=tuple(chosen))


def digests(pieces: Sequence[Piece]) -> dict[str, str]:
    """By source of pieces, a digest of them: another one means other modules."""
    of: dict[str, list[str]] = defaultdict(list)
    for piece in pieces:
        of[piece.source].append(piece.digest)
    return {
        source: hashlib.sha256(" ".join(each).encode()).hexdigest()[:16]
        for source, each in of.items()
    }


def changed_sources(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """The sources that give other pieces than before, in words."""
    for source in {**before, **now}:
        if source not in now:
            yield f"{sentence(source)} is missing"
        elif source not in before:
            yield f"{sentence(source)} is new"
        elif before[source] != now[source]:
            yield f"{sentence(source)} has changed since"
