"""Runs the inner passes of a pass by themselves, on the module that the pass was given."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterator
from types import FrameType, FunctionType
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax import dpl
from tvm.s_tir import Schedule

from ...compat import availability
from ...generators.rewrite.nodes import with_functions
from ..catalogue import COMMON_PARTS, catalogue, plain_call
from ..catalogue.uncovered import missing_arguments
from ..inspect import relax_functions
from ..pass_runs import Outcome, PassRuns
from ..passcall import REWRITING, bare_call
from ..text.frames import is_users


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


def same_function(
    runs: PassRuns, mod: tvm.IRModule, outcome: Outcome, breaks: Callable[[PassRuns], bool]
) -> str | None:
    """The function of TVM that a user's pass calls and that is to blame for the broken promise.

    Alone, on the Relax functions of the module, it raises in the same way, or gives functions that
    are ill-formed in the same way. Only internal errors count: others may say what it does not
    take.

    Args:
        breaks: return whether the result of these runs is ill-formed in the same way.
    """
    internal = isinstance(outcome.error, tvm.error.InternalError)
    if runs.call.is_tvms or (outcome.error is not None and not internal):
        return None
    for function in _functions_called(runs, mod):
        alone = runs.attempt(function.__name__, functools.partial(_each, function), mod)
        if internal and alone.mark == outcome.mark:
            return function.__name__
        if not internal and alone.mod is not None and breaks(_seen(runs, mod, alone)):
            return function.__name__
    return None


def _each(function: FunctionType, mod: tvm.IRModule) -> tvm.IRModule:
    """The module with the results of a function for its Relax functions, where these are Relax
    functions, too."""
    changed = {gvar: function(func) for gvar, func in relax_functions(mod)}
    kept = {gvar: func for gvar, func in changed.items() if isinstance(func, relax.Function)}
    return with_functions(mod, {**dict(mod.functions_items()), **kept})


def _functions_called(runs: PassRuns, mod: tvm.IRModule) -> list[FunctionType]:
    """The functions of TVM that the pass calls on Relax functions of the module, if they need no
    other argument."""
    functions = [func for _, func in relax_functions(mod)]
    found: list[FunctionType] = []

    def note(frame: FrameType, event: str) -> None:
        function, given = _called_by_user(frame) if event == "call" else (None, None)
        if function is not None and any(func.same_as(given) for func in functions):
            found.append(function)

    _watched(runs, mod, note)
    return [function for function in dict.fromkeys(found) if _takes_one(function)]


def _takes_one(function: FunctionType) -> bool:
    """True if a call with one argument is complete."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True


def same_helper(runs: PassRuns, mod: tvm.IRModule, shows: Callable[[PassRuns], bool]) -> str | None:
    """The function of TVM that a user's pass lets change a schedule, and that is to blame.

    From what the schedule was before the call to what it is behind it, the same promise is broken.
    Primitives that the pass itself calls are its own choice.

    Args:
        shows: return whether runs of a pass break the same promise in the same way.
    """
    if runs.call.is_tvms:
        return None
    started: dict[FrameType, tuple[str, Schedule, tvm.IRModule]] = {}
    found: list[tuple[str, tvm.IRModule, tvm.IRModule]] = []

    def note(frame: FrameType, event: str) -> None:
        if event == "call":
            function, given = _called_by_user(frame)
            if function is not None and isinstance(given, Schedule):
                started[frame] = function.__name__, given, given.mod
        elif event == "return" and frame in started:
            name, schedule, before = started.pop(frame)
            found.append((name, before, schedule.mod))

    _watched(runs, mod, note)
    for name, before, after in found:
        if shows(_seen(runs, before, Outcome(mod=after))):
            return name
    return None


def _called_by_user(frame: FrameType) -> tuple[FunctionType | None, Any]:
    """The function of a module of TVM, called from a user's file, and its first argument."""
    code, caller = frame.f_code, frame.f_back
    if not code.co_argcount or caller is None or not is_users(caller.f_code.co_filename):
        return None, None
    function = frame.f_globals.get(code.co_name)
    if is_users(code.co_filename) or getattr(function, "__code__", None) is not code:
        return None, None  # a method, or a function inside of another
    return function, frame.f_locals[code.co_varnames[0]]


def class_of(runs: PassRuns) -> str | None:
    """The pass of the catalogue whose class a user's pass is an instance of, with arguments of the
    user's: `dlight.ApplyDefaultSchedule` of own schedule rules.

    Only code of that class holds the module itself; what the user gives it sees functions.
    """
    if runs.call.is_tvms or not runs.passes:
        return None
    kind = type(runs.passes[0])
    # A pass in C++, or one made of a function, has a class of TVM's that says nothing of it.
    if kind.__module__.partition(".")[0] != "tvm" or kind.__name__ != runs.passes[0].info.name:
        return None
    return next((name for name in catalogue if name.rpartition(".")[2] == kind.__name__), None)


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
    return alone.mod is not None and breaks(_seen(runs, mod, alone)) and _rewrites(runs, mod)


def _rewrites(runs: PassRuns, mod: tvm.IRModule) -> bool:
    """True if the pass calls TVM's rewriting by patterns."""
    file = inspect.getfile(dpl.rewrite_call)
    called = False

    def note(frame: FrameType, event: str) -> None:
        nonlocal called
        called = called or frame.f_code.co_filename == file

    _watched(runs, mod, note)
    return called


def _watched(runs: PassRuns, mod: tvm.IRModule, note: Callable[[FrameType, str], None]) -> None:
    """Run the pass, and note the frame of each event of `sys.setprofile`."""
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: note(frame, event))
    try:
        runs.attempt("watched", runs.directly, mod)
    finally:
        sys.setprofile(before)


def _seen(runs: PassRuns, mod: tvm.IRModule, alone: Outcome) -> PassRuns:
    """The runs of a pass with this outcome, under the contract of the user's pass."""
    return PassRuns(mod, runs.calls, runs.contract, alone=True, thorough=runs.thorough, seen=alone)


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
