"""The record of one kind of mutation, and the choice of one mutant of a module."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import tvm

from relaxfuzz.oracles.pass_runs import digest

Mutant: TypeAlias = Callable[[], tvm.IRModule | None]
"""Makes the altered module; None or an exception if types do not allow it."""


class Changes(enum.StrEnum):
    """The promise that a mutation breaks, unless the result is equal by construction."""

    VALUE = "value"
    TYPE = "type"
    EFFECT = "effect"
    FORM = "well-formedness"
    ATTRIBUTE = "attribute"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One kind of fault."""

    kind: str
    changes: Changes
    mutants: Callable[[tvm.IRModule], Iterator[Mutant]]
    """The mutants: one for each place in the module and each way to alter it."""


TRIES = 12
"""The most places to try until one gives a different module."""

LISTED = 4000
"""The most places to list, as a whole model has tens of thousands."""


def drawn(mutation: Mutation, mod: tvm.IRModule, random: Random) -> tvm.IRModule | None:
    """One mutant of the module; None if the mutation does not apply anywhere."""
    places: list[Mutant] = []
    with contextlib.suppress(StopIteration):
        found = mutation.mutants(mod)
        while len(places) < LISTED:
            places.append(next(found))
    random.shuffle(places)
    mark = digest(mod)
    for mutant in places[:TRIES]:
        made = _made(mutant)
        if made is not None and digest(made) != mark:
            return made
    return None


def _made(mutant: Mutant) -> tvm.IRModule | None:
    try:
        return mutant()
    except Exception:  # TVM refuses to construct the nodes
        return None


def by_kind(mutations: Sequence[Mutation]) -> dict[str, Mutation]:
    """The mutations by kind, which is unique for each."""
    named = {each.kind: each for each in mutations}
    assert len(named) == len(mutations), "two mutations bear the same name"
    return named
