"""The rule that kept the oracles quiet about a planted fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from relaxfuzz.oracles.silence.inventory import EXCUSES
from relaxfuzz.oracles.silence.log import Answer

from .mutation import Changes

ASKED = {
    Changes.TYPE: ("functions", "signature"),
    Changes.FORM: ("well-formed",),
    Changes.ATTRIBUTE: ("attributes",),
    Changes.EFFECT: ("effects",),
}
"""The oracles that are to see such a change."""

OF_VALUES = ("evaluated", "sanitized", "executed")
"""Those that are to see any other."""


def rule(changed: str, answers: Mapping[str, Answer]) -> str:
    """The rule, by its name or in the oracle's own words."""
    asked = ASKED[Changes(changed)] if changed in ASKED else OF_VALUES
    mine = [answers[name] for name in asked if name in answers]
    kept = Counter(
        silence.rule
        for answer in mine
        for silence in answer.silences
        if silence.report or silence.rule in EXCUSES
    )
    if kept:
        return ", ".join(kept)
    reasons = [f"{answer.oracle}: {answer.silent}" for answer in mine if answer.silent]
    return "; ".join(reasons) or "no arguments that the module accepts show it"
