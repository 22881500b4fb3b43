"""The rule: the grade of a bug, of the promise that is broken and of the module that shows it."""

from __future__ import annotations

import signal
from collections.abc import Collection, Sequence

from ...generators.stages import RELAX, TENSORIR, pass_of
from ..tiers import ORACLES
from .grade import Grade

OUT_OF_ORDER = "out-of-order"
"""What is rare where a pass of the pipeline is given a module of another stage than there."""

_BEFORE = {
    pass_of(names[0]): before
    for steps in (RELAX, TENSORIR)
    for before, names in zip(list(steps)[:-1], list(steps.values())[1:], strict=True)
}
"""By pass that the pipeline reaches a stage with: the stage before."""


def out_of_order(blamed: str, stage: str) -> bool:
    """The pipeline gives the pass modules of another stage than this one."""
    return _BEFORE.get(blamed, stage) != stage


def promise(key: Sequence[str]) -> Grade:
    """The grade of what is not kept: that of the oracle.

    Args:
        key: oracle, blamed pass, and what the oracle reports. Deaths of a process stand in place
            of an oracle, and are the gravest.
    """
    oracle = ORACLES.get(key[0])
    if oracle is None:
        return Grade.A
    return oracle.grade_of.get(key[2], oracle.grade) if len(key) > 2 else oracle.grade


def grade(key: Sequence[str], rare: Collection[str]) -> Grade:
    """The grade of a bug.

    It is the promise's for a plain module, one lower where one thing is rare in the module, and C
    where more are: nobody but by hand makes such a module. A death of the process is B at least.

    Args:
        key: see `promise`.
        rare: what is rare in the module.
    """
    of_promise = promise(key)
    against = [each for each in rare if not _is_the_bug(each, key)]
    lowered = Grade.C if len(against) > 1 else of_promise.next if against else of_promise
    return min(lowered, Grade.B) if _dies(key) else lowered


def decides(key: Sequence[str], named: Collection[str] = ()) -> bool:
    """Exit codes and tests may follow from a finding: it breaks a promise, or its oracle was asked.

    Args:
        key: see `promise`.
        named: the oracles that the user has asked by their names.
    """
    oracle = ORACLES.get(key[0])
    return oracle is None or key[0] in named or oracle.hints.isdisjoint(key[2:3])


def _dies(key: Sequence[str]) -> bool:
    """The process died, or one that an oracle has made for that."""
    return key[0] not in ORACLES or not set(key[2:]).isdisjoint(signal.Signals.__members__)


def _is_the_bug(rare: str, key: Sequence[str]) -> bool:
    """It is what is reported, and so no property of the module."""
    oracle, blamed, *_ = key
    if rare == "not-tvmscript":
        return oracle == "tvmscript"
    # An operator is blamed for its legalization.
    return rare == "not-legalized" and (blamed == "LegalizeOps" or "." in blamed)
