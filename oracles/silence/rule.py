"""A rule of silence: one reason why an oracle reports nothing."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class SilenceKind(enum.StrEnum):
    """The kinds of reasons to be silent."""

    NOTHING = "nothing to compare"
    """The promise does not cover this pass and module, or there is nothing to compare."""
    EXCUSE = "excused"
    """The oracle has seen, or could see, something that would be reported without the rule."""
    BUDGET = "not looked at"
    """The check would take too long, or was not asked for."""


@dataclass(frozen=True, slots=True)
class SilenceRule:
    """A reason why an oracle reports nothing."""

    name: str
    """The name for `--loud`, counts and the table of prices."""
    kind: SilenceKind
    excuses: str
    """The case about which it keeps quiet, in one sentence."""
    source: str
    """The document or argument that justifies silence in that case."""
