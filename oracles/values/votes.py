"""Votes on values: what the VM says of two sides that differ when they are evaluated."""

from __future__ import annotations

import enum
from typing import Any

from ...generators.ops.record import Tolerance
from ..execute import Death, Failure, execute
from ..keys import headline
from .expectation import Expectation


class Verdict(enum.Enum):
    """Whether the VM confirms a difference."""

    SAME = enum.auto()
    """It computes on both sides what the evaluator does, and so the sides differ."""
    OTHER = enum.auto()
    """It computes something else on one side: the evaluator or code generation is wrong."""
    NONE = enum.auto()
    """It can build or run one of the sides not at all."""


REFUSED = object()
"""The result of a side that cannot be carried out, in the evaluator's opinion."""


def vote(
    before: Expectation, after: Expectation, tolerance: Tolerance | None
) -> tuple[Verdict, str]:
    """The verdict, and for NONE the reason.

    Args:
        before: what the evaluator says of the module.
        after: the same of the pass's result; `REFUSED` may be its result.
        tolerance: by which the sides differ; None: the usual one.
    """
    for side, e, bounds in (("result", after, tolerance), ("module", before, None)):
        ran = execute(e.mod, [e.plan()])
        if ran is None:
            return Verdict.NONE, f"running the {side} takes too long"
        if isinstance(ran, Death):
            return Verdict.NONE, f"the process of the {side} dies ({ran.step}): {ran.error}"
        if isinstance(ran, Failure):
            return Verdict.NONE, f"it cannot build the {side} ({ran.error}: {headline(ran.text)})"
        (value,) = ran
        if not _agree(e, value, bounds):
            return Verdict.OTHER, ""
        if side == "result" and before.differs(value, tolerance) is None:
            return Verdict.OTHER, ""
    return Verdict.SAME, ""


def _agree(e: Expectation, value: Any, tolerance: Tolerance | None) -> bool:
    if isinstance(value, Failure) or e.result is REFUSED:
        return isinstance(value, Failure) and e.result is REFUSED
    return e.differs(value, tolerance) is None
