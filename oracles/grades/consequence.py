"""The consequence of a bug for users: the effect they see, and the build that shows it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .grade import Grade


class Effect(enum.StrEnum):
    """The effects of a bug that users see, the gravest first."""

    VALUES = "wrong values"
    MEMORY = "memory"
    """An access out of bounds or of unwritten memory, or a race."""
    DIES = "process dies"
    UNBUILT = "does not build"
    """A pass, the code generator or the built module raises; or a result has another type than
    inferred, so that its users raise."""
    LESS = "says less"
    """Types, attributes, names or a form get lost, but the module computes the same."""
    NOTHING = "nothing seen"


class Where(enum.StrEnum):
    """The build that shows the effect, the most usual first."""

    BUILD = "default build"
    """A build without options; for the author of a pass, also a run of that pass."""
    PIPELINE = "documented pipeline"
    """Another pipeline of TVM's, or an option of the PassContext."""
    ALONE = "pass alone"
    """The pass as documented, called by itself."""
    CONTRIVED = "contrived"
    """Only a module that no frontend produces, or arguments such as NaN."""


GRADES: Mapping[Effect, tuple[Grade, Grade, Grade, Grade]] = {
    Effect.VALUES: (Grade.A, Grade.A, Grade.B, Grade.C),
    Effect.MEMORY: (Grade.A, Grade.A, Grade.B, Grade.C),
    Effect.DIES: (Grade.A, Grade.A, Grade.B, Grade.C),
    Effect.UNBUILT: (Grade.B, Grade.B, Grade.B, Grade.C),
    Effect.LESS: (Grade.C, Grade.C, Grade.C, Grade.C),
    Effect.NOTHING: (Grade.C, Grade.C, Grade.C, Grade.C),
}
"""The grade by effect, in the order of `Where`."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """The gravest effect on users that was observed for a bug."""

    effect: Effect
    where: Where

    @property
    def grade(self) -> Grade:
        """The grade in `GRADES`."""
        return GRADES[self.effect][list(Where).index(self.where)]

    @property
    def rank(self) -> tuple[Grade, int, int]:
        """A sort key: graver grades first, then more usual builds."""
        return self.grade, list(Where).index(self.where), list(Effect).index(self.effect)

    def fails_on(self, named: str) -> bool:
        """True if the grade reaches one of `conditions`, or the effect is one of them."""
        given = conditions(named)
        grades = (each for each in given if isinstance(each, Grade))
        return self.effect in given or any(map(self.grade.reaches, grades))

    def fields(self, tvm: str) -> dict[str, str]:
        """The table for a record, with the version of TVM on which it was measured."""
        return {"effect": str(self.effect), "where": str(self.where), "tvm": tvm}

    def __str__(self) -> str:
        return f"{self.effect} ({self.where})"


CONDITIONS: Mapping[str, Grade | Effect] = {str(each): each for each in (*Grade, *Effect)}
"""All conditions that a finding can be required to meet, by name."""


def conditions(named: str) -> tuple[Grade | Effect, ...]:
    """The grades and effects of a list with commas.

    Raises:
        KeyError: a name is none of `CONDITIONS`.
    """
    return tuple(CONDITIONS[each.strip()] for each in named.split(","))


def consequence_from(fields: Mapping[str, Any]) -> Consequence:
    """The consequence in a table of a record, which has the version of TVM as well.

    Raises:
        ValueError: a field is missing, unknown, or has another value.
    """
    if fields.keys() != {"effect", "where", "tvm"}:
        raise ValueError(f"Expected effect, where and tvm of a consequence but got {dict(fields)}")
    return Consequence(Effect(fields["effect"]), Where(fields["where"]))
