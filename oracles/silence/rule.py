"""A rule of silence: one reason for which an oracle reports nothing."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class SilenceKind(enum.StrEnum):
    """The ways to be silent."""

    NOTHING = "nothing to compare"
    """The promise says nothing of this pass and module, or there is no other side."""
    EXCUSE = "excused"
    """The oracle has seen, or could see, something that would be reported without the rule."""
    BUDGET = "not looked at"
    """Looking would take too long, or nobody has asked for it."""


@dataclass(frozen=True, slots=True)
class SilenceRule:
    """A reason for which an oracle reports nothing."""

    name: str
    """For `--loud`, counts and the table of prices."""
    kind: SilenceKind
    excuses: str
    """The case that it keeps quiet about, in one sentence."""
    source: str
    """The document, or the reason, that makes silence right there."""
