"""Blocks that are partly made of real modules.

A campaign learns which pieces of them, and which kinds of edits, are worth more: those in whose
blocks violations came that were new, and modules that more passes changed. What block n is made of
depends on the blocks before n / 2 alone, see `focus.horizon`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ...generators.seeds import Edit, Piece, Whole
from ..output.readable import sentence
from ..process.block import ModuleDone
from ..process.targets import Recipe
from .draw import entropy

PIECES = 6
"""Pieces that the modules of one block are made of."""

IN_TURN = 3
"""Of those, once something was learned; the others are picked by what was learned."""

NEW = 100.0
"""A new violation is worth as much as so many modules that a pass has changed: those are frequent,
and it is what is looked for."""

PRIOR = 1000.0
"""Checks of an average piece that are added to those of each: about three blocks."""

LEFT_OUT = 0.25
"""The chance that a kind of edit of usual worth is left out of a block."""

SHIPPED = "what comes with relaxfuzz"
"""The source of pieces that no user has given."""

LEAST, MOST = 1 / 3, 3.0
"""Bounds of what is learned: six pieces share a block, and one of them may have done it all."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Pieces of one kind."""

    pieces: tuple[Piece, ...]
    share: float
    """Of the blocks, from 0 to 1. All kinds together have 1 at most; what is more, the last ones
    lack."""
    wholes: tuple[Whole, ...] = ()
    """Modules that a campaign checks as they are, once."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What has come of the blocks with a piece."""

    checks: int = 0
    """Modules, counted for each pass that was checked on them."""
    changed: int = 0
    """The same, where the pass changed the module."""
    new: int = 0
    """Violations that were the first of their kind."""

    @classmethod
    def of(cls, done: Collection[ModuleDone], new: int) -> Worth:
        """Of one block with these modules."""
        checks = sum(len(module.changed) for module in done)
        return cls(checks, sum(sum(module.changed.values()) for module in done), new)

    def __add__(self, other: Worth) -> Worth:
        return Worth(self.checks + other.checks, self.changed + other.changed, self.new + other.new)

    @property
    def value(self) -> float:
        """In modules that a pass has changed."""
        return self.changed + NEW * self.new


def weights(worth: Mapping[str, Worth]) -> dict[str, float]:
    """By piece: what a check of its blocks is worth, as a multiple of the mean, within bounds.

    Empty where nothing is worth anything.
    """
    value = sum(each.value for each in worth.values())
    checks = sum(each.checks for each in worth.values())
    if not value or not checks:
        return {}
    mean = value / checks
    return {
        piece: min(MOST, max(LEAST, (each.value / mean + PRIOR) / (each.checks + PRIOR)))
        for piece, each in worth.items()
    }


def with_pieces(
    made: Recipe,
    seeds: Sequence[Seeds],
    seed: int,
    number: int,
    learned: Mapping[str, float] = {},
    edits: Mapping[str, float] = {},
) -> Recipe:
    """What a block is made of, with pieces of one kind in a share of the blocks.

    Args:
        seed: of the campaign.
        number: of the block. The blocks take the pieces in turn, in an order that depends on the
            seed, and more of those that are worth more.
        learned: by digest of a piece, see `weights`.
        edits: the same by kind of edit.
    """
    at = Random(entropy("seeds", seed, number)).random()
    for each in seeds:
        if at < each.share and each.pieces:
            chosen = _chosen(each.pieces, seed, number, learned)
            return dataclasses.replace(made, pieces=chosen, edits=_kinds(seed, number, edits))
        at -= each.share
    return made


def _chosen(
    pieces: Sequence[Piece], seed: int, number: int, learned: Mapping[str, float]
) -> tuple[Piece, ...]:
    order = list(pieces)
    Random(entropy("pieces", seed)).shuffle(order)
    size = min(PIECES, len(order))
    in_turn = min(IN_TURN, size) if learned else size
    chosen = [order[(number * in_turn + at) % len(order)] for at in range(in_turn)]
    random = Random(entropy("worth", seed, number))
    rest = [piece for piece in order if piece not in chosen]
    while len(chosen) < size:
        (piece,) = random.choices(rest, [learned.get(each.digest, 1.0) for each in rest])
        rest.remove(piece)
        chosen.append(piece)
    return tuple(chosen)


def _kinds(seed: int, number: int, learned: Mapping[str, float]) -> tuple[str, ...]:
    """The kinds of edits that the pieces of a block get, more often those that are worth more."""
    random = Random(entropy("edits", seed, number))
    drawn = {edit: random.random() for edit in Edit}
    kept = [e for e, at in drawn.items() if at >= LEFT_OUT / learned.get(e, 1.0)]
    return tuple(edit.value for edit in kept)


def digests(seeds: Sequence[Seeds]) -> dict[str, str]:
    """By source of modules, a digest of their pieces and of the wholes: another one means other
    modules.
    """
    of: dict[str, list[str]] = defaultdict(list)
    for each in seeds:
        for piece in each.pieces:
            of[piece.source or SHIPPED].append(piece.digest)
        for whole in each.wholes:
            of[whole.name].append(whole.digest)
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
