"""Runs the inner passes of a pass by themselves, on the module that the pass was given."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from types import FrameType, FunctionType

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax import dpl

from ...compat import availability
from ..catalogue import COMMON_PARTS, catalogue, plain_call
from ..catalogue.uncovered import missing_arguments
from ..inspect import relax_functions
from ..pass_runs import Outcome, PassRuns
from ..passcall import REWRITING, bare_call
from ..text.frames import called_by_user, frames_of


def parts_alone(runs: PassRuns, among: Collection[str]) -> Iterator[tuple[str, PassRuns]]:
    """Yields the common inner passes that suit the module, the rarest first, each with its runs.

    A pass that is itself among the common ones yields none: its errors are its own fault.

    Args:
        among: only these, by name.
    """
    if runs.call.name in COMMON_PARTS:
        return
    for name in COMMON_PARTS:
        contract = catalogue[name]
        if name not in among or name in availability.current().passes:
            continue
        if contract.requires(runs.mod) is None:
            runs.step(name)
            alone = PassRuns(
                runs.mod,
                (plain_call(name),),
                contract,
                alone=True,
                known=runs.given,
                thorough=runs.thorough,
                all_kinds=runs.all_kinds,
            )
            yield name, alone


def same_part(
    runs: PassRuns, mod: tvm.IRModule, outcome: Outcome, shows: Callable[[PassRuns], bool]
) -> str | None:
    """The pass of TVM that a user's pass runs and that is to blame for the broken promise.

    Alone, it changes the module in the same way and breaks its own contract in the same way.

    Args:
        shows: return whether runs of a pass break the same promise in the same way.
    """
    if runs.call.is_tvms or len(runs.calls) > 1 or outcome.mark == Outcome(mod=mod).mark:
        return None
    for name in sorted(runs.inner_passes() & catalogue.keys()):
        contract = catalogue[name]
        if name in REWRITING or missing_arguments(name) or contract.requires(runs.mod) is not None:
            continue
        call = bare_call(name)
        if runs.attempt(name, runs.under(call.build()), mod).mark != outcome.mark:
            continue
        if shows(PassRuns(runs.mod, (call,), contract, thorough=runs.thorough)):
            return name
    return None


def raising_function(runs: PassRuns, mod: tvm.IRModule, outcome: Outcome) -> str | None:
    """The function of TVM that a user's pass calls and that is to blame for the exception.

    Alone, on a Relax function of the module, it raises in the same way. Only internal errors count:
    others may say what the function does not take.
    """
    error = outcome.error
    if runs.call.is_tvms or not isinstance(error, tvm.error.InternalError):
        return None
    frame = called_by_user(frames_of(error))
    function = None if frame is None else _at(frame)
    if function is None:
        return None

    def alone(func: relax.Function) -> Outcome:
        return runs.attempt(function.__name__, lambda mod: function(func) and mod, mod)

    alike = any(alone(func).mark == outcome.mark for _, func in relax_functions(mod))
    return function.__name__ if alike else None


def _at(frame: traceback.FrameSummary) -> FunctionType | None:
    """The function of a module to which a frame of Python belongs; None if it is a method."""
    loaded = list(sys.modules.values())
    home = next((each for each in loaded if getattr(each, "__file__", "") == frame.filename), None)
    found = getattr(home, frame.name, None)
    return found if isinstance(found, FunctionType) else None


REWRITER = REWRITING[0]


def is_of_rewriter(
    runs: PassRuns,
    mod: tvm.IRModule,
    outcome: Outcome,
    breaks: Callable[[PassRuns], bool] = lambda runs: False,
) -> bool:
    """True if TVM's rewriting by patterns alone has the same effect on a module as the user's pass.

    The rewriting infers types again even in functions without a match. A pass that uses it is not
    to blame for that, although it may do more.

    Args:
        breaks: return whether runs of a pass break the same promise in the same way.
    """
    if runs.call.is_tvms:
        return False
    alone = _rewritten(runs, mod)
    if alone.mark == outcome.mark != Outcome(mod=mod).mark:
        return True
    if outcome.error is not None:
        return _rewritten(runs, mod, anew=True).mark == outcome.mark and _rewrites(runs, mod)
    seen = PassRuns(mod, runs.calls, runs.contract, alone=True, thorough=runs.thorough, seen=alone)
    return alone.mod is not None and breaks(seen) and _rewrites(runs, mod)


def _rewrites(runs: PassRuns, mod: tvm.IRModule) -> bool:
    """True if the pass calls TVM's rewriting by patterns."""
    file = inspect.getfile(dpl.rewrite_call)
    called = False

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called = called or frame.f_code.co_filename == file

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        runs.attempt("watched", runs.directly, mod)
    finally:
        sys.setprofile(before)
    return called


def _rewritten(runs: PassRuns, mod: tvm.IRModule, *, anew: bool = False) -> Outcome:
    """The outcome of rewriting by a pattern that matches nothing, or that remakes each call."""
    pattern = dpl.wildcard() if anew else dpl.is_gv("no function has this name")

    def made_anew(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Call) and isinstance(expr.op, Op):
            return relax.Call(expr.op, expr.args, expr.attrs, expr.ty_args)
        return expr

    def rewrite(func: relax.Function) -> relax.Function:
        return dpl.rewrite_call(pattern, lambda expr, matches: made_anew(expr), func)

    each = relax.transform.function_pass(lambda func, mod, context: rewrite(func), opt_level=0)
    step = "rewrite each call" if anew else "rewrite by a pattern that is nowhere"
    return runs.attempt(step, runs.under(each), mod)
