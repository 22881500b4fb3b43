"""Blocks that are partly made of real modules."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ...generators.seeds import Piece, PieceEdit, Whole
from ..jobs.draw import entropy
from ..process.targets import Recipe

PIECES = 6
"""Pieces of which the modules of one block are made."""

LEFT_OUT = 0.25
"""The chance that a kind of edit is left out of a block."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Pieces of one kind."""

    pieces: tuple[Piece, ...]
    share: float
    """Share of the blocks, from 0 to 1. Shares above a total of 1 are taken from the last kinds."""
    wholes: tuple[Whole, ...] = ()
    """Modules that a campaign checks once, unchanged."""


def with_pieces(made: Recipe, seeds: Sequence[Seeds], seed: int, number: int) -> Recipe:
    """Add pieces of one kind to a recipe, in a share of the blocks.

    Args:
        seed: seed of the campaign.
        number: number of the block. Blocks take the pieces in turn, in an order that depends on the
            seed.
    """
    at = Random(entropy("seeds", seed, number)).random()
    for each in seeds:
        if at < each.share and each.pieces:
            chosen = _chosen(each.pieces, seed, number)
            return dataclasses.replace(made, pieces=chosen, edits=_kinds(seed, number))
        at -= each.share
    return made


def _chosen(pieces: Sequence[Piece], seed: int, number: int) -> tuple[Piece, ...]:
    order = list(pieces)
    Random(entropy("pieces", seed)).shuffle(order)
    size = min(PIECES, len(order))
    return tuple(order[(number * size + at) % len(order)] for at in range(size))


def _kinds(seed: int, number: int) -> tuple[str, ...]:
    """The kinds of edits for a block's pieces."""
    random = Random(entropy("edits", seed, number))
    return tuple(edit.value for edit in PieceEdit if random.random() >= LEFT_OUT)
