"""The votes of the VM on differences that the evaluator sees.

A vote needs evidence that is independent of the pass: a build of the module that runs the pass,
too, computes what the pass makes of it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from ..generators.ops.record import Tolerance
from ..generators.stages import TENSORIR, pass_of
from .execute import Death, Failure, execute
from .pass_runs import PassRuns
from .pipelines import LIFTS, run_by_builds
from .text import messages
from .values.expectation import Expectation


class Verdict(enum.Enum):
    """The VM's opinion of a difference."""

    SAME = enum.auto()
    """It computes on both sides what the evaluator does, and so the sides differ."""
    OTHER = enum.auto()
    """It computes something else on one side: the evaluator or code generation is wrong."""
    NONE = enum.auto()
    """It can build or run one of the sides not at all."""


REFUSED = object()
"""The result of a side that cannot be carried out, in the evaluator's opinion."""


def is_run_by_builds(runs: PassRuns) -> bool:
    """A build for the CPU runs the pass, or one of the passes that run inside of it."""
    return not _of_builds().isdisjoint((*(call.name for call in runs.calls), *runs.inner_passes()))


@functools.cache
def _of_builds() -> frozenset[str]:
    """The names of the passes that builds for a CPU run: of Relax, and those of TensorIR."""
    of_tensorir = (pass_of(name) for steps in TENSORIR.values() for name in steps)
    return run_by_builds() | {LIFTS.name, *of_tensorir}


def vote(
    before: Expectation,
    after: Expectation,
    tolerance: Tolerance | None,
    *,
    builds: Callable[[], bool] = lambda: False,
    overflows: bool = False,
) -> tuple[Verdict, str]:
    """The verdict, and for NONE the reason.

    Args:
        before: what the evaluator says of the module.
        after: the same of the pass's result; `REFUSED` may be its result.
        tolerance: by which the sides differ; None: the usual one.
        builds: says that the build of the module runs the pass, too: then it is no evidence.
        overflows: only an overflow makes the result wrong. Code generation assumes that there is
            none, and so may give other values than those that wrap around, or the right ones.
    """
    for side, e, bounds in (("result", after, tolerance), ("module", before, None)):
        value, reason = _run(e, side)
        if reason:
            return Verdict.NONE, reason
        any_value = overflows and side == "result" and not isinstance(value, Failure)
        if not any_value and not _confirms(e, value, bounds):
            if side == "module" and _is_of_result(value, after, tolerance) and builds():
                return Verdict.NONE, "it makes of the module what the pass does"
            return Verdict.OTHER, ""
        if side == "result" and before.differs(value, tolerance) is None:
            return Verdict.OTHER, ""
    return Verdict.SAME, ""


def _is_of_result(value: Any, after: Expectation, tolerance: Tolerance | None) -> bool:
    if isinstance(value, Failure) or after.result is REFUSED:
        return False
    return after.differs(value, tolerance) is None


def hidden(
    before: Expectation, after: Expectation, tolerance: Tolerance | None
) -> tuple[Verdict, str]:
    """The VM's opinion of a module whose result is not defined: is the module, and what does the
    result give?"""
    value, reason = _run(after, "result")
    if not reason:
        same = before.differs(value, tolerance) is None
        reason = f"it gives {'the same' if same else 'something else'} for the result"
    note = f"Compiled code hides it or not, by accident; in the VM: {reason}"
    value, reason = _run(before, "module")
    if reason:
        return Verdict.NONE, note
    return (Verdict.SAME if _confirms(before, value, None) else Verdict.OTHER), note


def _run(e: Expectation, side: str) -> tuple[Any, str]:
    """The value that the VM gives, and the reason if it gives none."""
    ran = execute(e.mod, [e.plan()], record=e.record)
    if ran is None:
        return None, f"running the {side} takes too long, or it is for another device"
    if isinstance(ran, Death):
        return None, f"the process of the {side} dies ({ran.step}): {ran.error}"
    if isinstance(ran, Failure):
        return None, f"it cannot build the {side} ({ran.error}: {messages.headline(ran.text)})"
    (value,) = ran
    return value, ""


def _confirms(e: Expectation, value: Any, tolerance: Tolerance | None) -> bool:
    if isinstance(value, Failure) or e.result is REFUSED:
        return isinstance(value, Failure) and e.result is REFUSED
    return e.differs(value, tolerance) is None
