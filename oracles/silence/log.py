"""The log of one check: the comparisons of each oracle, and the rules that kept it quiet.

`--loud` lifts rules for a whole process: `VARIABLE` holds their names.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .inventory import COUNTED, EXCUSES, RULES, TOO_LARGE
from .rule import SilenceKind, SilenceRule

VARIABLE = "RELAXFUZZ_LOUD"
"""The environment variable with the names of the rules that are lifted, or "all"."""

ALL = "all"
"""The name that stands for every excuse."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A case in which a rule kept an oracle quiet."""

    rule: str
    """The name of the rule in the inventory."""
    report: str = ""
    """The report that it withheld, in one line; empty if not known."""
    why: str = ""
    """The reason in this case, in one line; empty for the rule's own reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An oracle's part in one check, apart from its violations."""

    oracle: str
    silent: str | None = None
    """The reason why it was not asked, or had nothing to compare; None: it compared something."""
    silences: tuple[Silence, ...] = ()
    """The silences, each once."""
    lifted: tuple[str, ...] = ()
    """The rules that would have kept it quiet if they were not lifted."""
    omitted: tuple[str, ...] = ()
    """The parts that would take too long to compare."""

    @property
    def rule(self) -> SilenceRule | None:
        """The rule by which the oracle compared nothing; None: it compared something."""
        found = (RULES[each.rule] for each in self.silences if self._is_reason(each))
        return next(found, None)

    def _is_reason(self, silence: Silence) -> bool:
        return (silence.why or RULES[silence.rule].excuses) == self.silent


def silenced(oracle: str, rule: SilenceRule) -> Answer:
    """The answer of an oracle that a rule keeps from comparing anything."""
    return Answer(oracle, rule.excuses, (Silence(rule.name),))


class _Answers:
    def __init__(self, *, curious: bool) -> None:
        self.by_oracle: dict[str, Answer] = {}
        self.current = ""
        self.curious = curious


@contextlib.contextmanager
def answers(*, curious: bool = False) -> Iterator[dict[str, Answer]]:
    """The answers of the oracles, by name, in the order of asking.

    Args:
        curious: True to also ask, for the log only, oracles from which the pass is exempt.
    """
    made = _Answers(curious=curious)
    token = _answers.set(made)
    try:
        yield made.by_oracle
    finally:
        _answers.reset(token)


def asking(oracle: str) -> None:
    """Log that an oracle is asked: calls below refer to it from here on."""
    made = _answers.get()
    if made is not None:
        made.current = oracle
        made.by_oracle.setdefault(oracle, Answer(oracle))


def abstain(rule: SilenceRule, why: str = "") -> None:
    """Log that the oracle compares nothing.

    Args:
        why: the reason in this case; empty for the rule's own reason.
    """
    _keep(Silence(rule.name, why=why), silent=why or rule.excuses)


def reported() -> None:
    """Log that the oracle reports something, so it did compare, even if a search abstained."""
    _change(lambda answer: dataclasses.replace(answer, silent=None))


def excused(rule: SilenceRule, report: str = "") -> bool:
    """Log that a rule withholds a report; False if the rule is lifted.

    Args:
        report: the report, in one line.
    """
    if is_loud(rule):
        return False
    keep(rule, report)
    return True


def keep(rule: SilenceRule, report: str) -> None:
    """Log the report that a rule withholds.

    Args:
        report: the report, in one line.
    """
    _keep(Silence(rule.name, report))


def note(rule: SilenceRule, why: str = "") -> None:
    """Log that a rule leaves out a part of the comparison.

    Args:
        why: the reason in this case, in one line.
    """
    _keep(Silence(rule.name, why=why))


def omit(what: str) -> None:
    """Log a part that the oracle does not compare because it would take too long."""

    def with_this(answer: Answer) -> Answer:
        omitted = dict.fromkeys((*answer.omitted, what))
        silences = dict.fromkeys((*answer.silences, Silence(TOO_LARGE.name)))
        return dataclasses.replace(answer, omitted=tuple(omitted), silences=tuple(silences))

    _change(with_this)


def is_loud(rule: SilenceRule) -> bool:
    """True if the rule is lifted in this process; the log then notes that it would have applied."""
    names = _loud()
    if rule.kind is not SilenceKind.EXCUSE or not (rule.name in names or ALL in names):
        return False

    def with_this(answer: Answer) -> Answer:
        lifted = dict.fromkeys((*answer.lifted, rule.name))
        return dataclasses.replace(answer, lifted=tuple(lifted))

    _change(with_this)
    return True


@functools.cache
def _loud() -> frozenset[str]:
    """The names of the rules that are lifted in this process."""
    return frozenset(filter(None, os.environ.get(VARIABLE, "").split(",")))


def counted(given: Iterable[Answer]) -> dict[str, int]:
    """The rules, except "nothing to compare", that kept oracles quiet in one check: 1 each."""
    names = {silence.rule for answer in given for silence in answer.silences}
    return {name: 1 for name in COUNTED if name in names}


def is_curious() -> bool:
    """True if the log should include reports of oracles from which the pass is exempt."""
    made = _answers.get()
    return made is not None and made.curious


def variables(rules: tuple[str, ...]) -> dict[str, str]:
    """The environment of a process in which these rules are lifted."""
    return {VARIABLE: ",".join(rules)} if rules else {}


def _keep(silence: Silence, *, silent: str | None = None) -> None:
    def with_this(answer: Answer) -> Answer:
        silences = dict.fromkeys((*answer.silences, silence))
        return dataclasses.replace(answer, silent=answer.silent or silent, silences=tuple(silences))

    _change(with_this)


def _change(edit: Callable[[Answer], Answer]) -> None:
    made = _answers.get()
    if made is not None:
        name = made.current
        made.by_oracle[name] = edit(made.by_oracle.get(name) or Answer(name))


_answers: contextvars.ContextVar[_Answers | None] = contextvars.ContextVar("answers", default=None)

assert ALL not in EXCUSES, "a rule of silence is called like all of them"
