"""The rule that kept the oracles quiet about a planted fault."""

from __future__ import annotations

from collections.abc import Iterator

from relaxfuzz.oracles.silence.log import Silence

from .mutation import Changes
from .planted import Said

VALUES = ("evaluated", "sanitized", "executed")

ASKED = {
    Changes.TYPE: ("functions", "signature"),
    Changes.FORM: ("well-formed",),
    Changes.ATTRIBUTE: ("attributes",),
    Changes.EFFECT: ("effects", *VALUES),
}
"""The oracles that should see a change of each kind; `VALUES` see all others."""

NO_RULE = "no rule: compared, and found the same"
NOT_ASKED = "no oracle is asked"


def rule(changed: str, said: Said) -> str:
    """The name of the rule that keeps the oracle quiet that should see the change.

    A rule that has suppressed a report comes first, then one that has omitted a comparison.
    """
    names = ASKED.get(Changes(changed), VALUES) if changed in set(Changes) else VALUES
    answers = [said.answers[name] for name in names if name in said.answers]
    silences = [each for answer in answers for each in answer.silences]
    held_back = [each.rule for each in silences if each.report]
    left_out = [each.rule for each in silences]
    return next(iter((*held_back, *left_out)), NO_RULE if answers else NOT_ASKED)


def reasons(said: Said) -> Iterator[str]:
    """A line for each silence of each oracle."""
    for answer in said.answers.values():
        for silence in answer.silences:
            yield f"{answer.oracle}: {_text(silence)}"


def _text(silence: Silence) -> str:
    return ": ".join(filter(None, (silence.rule, silence.report, silence.why)))
