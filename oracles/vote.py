"""Lets the VM vote on differences that the evaluator sees.

A vote needs evidence that is independent of the pass. A build that itself runs the pass is not
independent: it computes the values of the pass's result.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from ..generators.ops.record import Tolerance
from ..generators.stages import TENSORIR, pass_of
from .execute import Failure, ProcessDeath, execute
from .expected.expectation import Expectation
from .pass_runs import PassRuns
from .pipelines import LIFTS, run_by_builds
from .text import messages


class Vote(enum.Enum):
    """The VM's opinion of a difference."""

    SAME = enum.auto()
    """The VM agrees with the evaluator on both sides, so the sides really differ."""
    OTHER = enum.auto()
    """The VM disagrees on one side: the evaluator or code generation is wrong."""
    NONE = enum.auto()
    """The VM cannot build or run one of the sides, or raises."""


REFUSED = object()
"""The result of a side that the evaluator finds impossible to run."""


def is_run_by_builds(runs: PassRuns) -> bool:
    """True if a build for the CPU runs the pass, or one of its inner passes."""
    return not _of_builds().isdisjoint((*(call.name for call in runs.calls), *runs.inner_passes()))


@functools.cache
def _of_builds() -> frozenset[str]:
    """The names of the passes of Relax and TensorIR that builds for the CPU run."""
    of_tensorir = (pass_of(name) for steps in TENSORIR.values() for name in steps)
    return run_by_builds() | {LIFTS.name, *of_tensorir}


def vote(
    before: Expectation,
    after: Expectation,
    tolerance: Tolerance | None,
    *,
    builds: Callable[[], bool] = lambda: False,
    open_: bool = False,
    narrowed: bool = False,
) -> tuple[Vote, str]:
    """The verdict; for NONE, also the reason.

    Args:
        before: the evaluator's expectation for the module.
        after: the same for the pass's result; its own result may be `REFUSED`.
        tolerance: the one for comparing the sides; None: the usual one.
        builds: tells if the module's build also runs the pass, and so is not evidence.
        open_: compiled code may give any value for the result, because it overflows (code
            generation assumes no overflow) or an operator promises nothing for its operands.
        narrowed: the result overflows in a type narrower than those of the module. Code generation
            may compute in a wider type, but other targets do not.
    """
    for side, e, bounds in (("result", after, tolerance), ("module", before, None)):
        value, reason = _run(e, side)
        if reason:
            return Vote.NONE, reason
        any_value = side == "result" and not isinstance(value, Failure) and (open_ or narrowed)
        if not any_value and not _confirms(e, value, bounds):
            if side == "module" and _is_of_result(value, after, tolerance) and builds():
                return Vote.NONE, "it makes of the module what the pass does"
            return Vote.OTHER, ""
        if side == "result" and not narrowed and before.differs(value, tolerance) is None:
            return Vote.OTHER, ""
    return Vote.SAME, ""


def _is_of_result(value: Any, after: Expectation, tolerance: Tolerance | None) -> bool:
    if isinstance(value, Failure) or after.result is REFUSED:
        return False
    return after.differs(value, tolerance) is None


def hidden(
    before: Expectation, after: Expectation, tolerance: Tolerance | None
) -> tuple[Vote, str]:
    """The verdict if the pass's result is undefined, and a note for people.

    SAME means that the VM confirms the module's own value.
    """
    value, reason = _run(after, "result")
    if not reason:
        same = before.differs(value, tolerance) is None
        reason = f"it gives {'the same' if same else 'something else'} for the result"
    note = f"Compiled code hides it or not, by accident; in the VM: {reason}"
    value, reason = _run(before, "module")
    if reason:
        return Vote.NONE, note
    return (Vote.SAME if _confirms(before, value, None) else Vote.OTHER), note


def _run(e: Expectation, side: str) -> tuple[Any, str]:
    """The value from the VM, and the reason if there is none."""
    ran = execute(e.mod, [e.plan()], record=e.record)
    if ran is None:
        return None, f"running the {side} takes too long, or it is for another device"
    if isinstance(ran, ProcessDeath):
        return None, f"the process of the {side} dies ({ran.step}): {ran.error}"
    if isinstance(ran, Failure):
        return None, f"it cannot build the {side} ({ran.error}: {messages.headline(ran.text)})"
    (value,) = ran
    if isinstance(value, Failure) and e.result is not REFUSED:
        return None, f"it raises for the {side} ({value.error}: {messages.headline(value.text)})"
    return value, ""


def _confirms(e: Expectation, value: Any, tolerance: Tolerance | None) -> bool:
    if isinstance(value, Failure) or e.result is REFUSED:
        return isinstance(value, Failure) and e.result is REFUSED
    return e.differs(value, tolerance) is None
