"""Blocks that are partly made of the user's modules."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from random import Random

from ...generators.seeds import Piece
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
