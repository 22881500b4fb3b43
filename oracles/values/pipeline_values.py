"""Executed semantics of whole builds: the VM computes the same as NumPy.

The operator is blamed, for its legalization, its code or its description, never a pass.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import tvm

from ...generators.ops import table
from ...generators.stages import LEGALIZER, Stage, pass_to
from .. import pipelines
from ..catalogue import contract_of
from ..errors import Mismatch, Undefined, Unpromised, Unsupported
from ..evaluate import Evaluator
from ..execute import Failure, ProcessDeath, VMRunner, execute, is_large, unbuilt
from ..execute.unbuilt import TOGETHER
from ..expected.comparison import finite
from ..expected.expectation import Expectation
from ..expected.expectations import executes
from ..expected.inputs import InputKind
from ..identity import FailureKind
from ..inspect import (
    bindings_of,
    entries,
    is_bound_to_threads,
    op_name,
    prim_funcs,
    public_functions,
)
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, given, run_alone
from ..passcall import bare_call, own
from ..silence import inventory
from ..silence.log import abstain, excused, note
from ..snippets.short_value_checks import against_numpy
from ..snippets.value_comments import called
from ..tensorir.sanitizer.runtime import UNINITIALISED, UNWRITTEN
from ..text.messages import headline
from ..violation import Case, StepJournal, Violation, silent
from . import evaluated, sanitized
from .blame import alone

COMBINATION = "a combination of operators"
MOST = 3
"""Number of calls in a reproducer."""

CODE_GENERATION = "relax.build"

AFTER_OTHERS = "after other calls"
"""Circumstance of a call that is right if made first, so an earlier call left some effect."""

NO_FUNCTION = "Module has no function"
"""The VM's message for a function name that the build does not export."""

REFUSALS = re.compile(
    # An operator without legalization, or on operands of unknown shape.
    r"CodeGenVM cannot emit this Relax operator directly. Run the appropriate lowering pass"
    # A packed function or an external library that is not linked.
    r"|Cannot find (?:ffi::Function|PackedFunc)"
)
"""Clean refusals: the message names the missing part."""


def check(mod: tvm.IRModule, pipeline: str, journal: StepJournal) -> Violation | None:
    """The error in the values that a module computes after a whole pipeline, or None."""
    unwritten = functools.cache(lambda: _unwritten(mod))
    return _of_values(mod, pipeline, journal, unwritten) or _of_memory(mod, journal, unwritten)


_Unwritten: TypeAlias = Callable[[], sanitized.FaultWitness | None]


def _of_values(
    mod: tvm.IRModule, pipeline: str, journal: StepJournal, unwritten: _Unwritten
) -> Violation | None:
    expected, actual = outcomes(mod, pipeline, journal)
    if isinstance(actual, Failure) and actual.step == "lower":
        # A pass has failed, and its own checks report that.
        abstain(inventory.LATER_PASS, headline(actual.text))
        return None
    if isinstance(actual, ProcessDeath):
        return _died(mod, expected, actual, pipeline)
    if isinstance(actual, Failure):
        return _not_built(mod, actual, pipeline)
    if actual is None:
        abstain(inventory.NO_TIME, "the build or the VM takes too long")
        return None
    if not any(e.promised for e in expected):
        _abstain(mod)
    for e, value, wrong in _wrong(mod, expected, actual, pipeline):
        if e.kind is InputKind.EMPTY and unwritten() and excused(inventory.LEFT_UNWRITTEN, wrong):
            continue
        if _made_private(mod, pipeline, value) and excused(inventory.EXEMPTION, wrong):
            continue
        culprit = _culprit(mod, e, _of_operators(pipeline))
        if not (culprit or e.promised) and excused(inventory.OPEN, wrong):
            continue  # other values may depend on an unpromised one
        of_step = None if culprit or pipelines.is_own(pipeline) else _of_step(mod, pipeline)
        if of_step is not None:
            return of_step
        if isinstance(value, Failure):
            violation = _raised(e, value)
        elif culprit is None and (
            _is_accident(e, wrong, unwritten) or _is_exempt(mod, pipeline, wrong)
        ):
            continue
        else:
            kind = wrong.split(":", 1)[0]
            circumstance = None if culprit else _circumstance(mod, e, pipeline)
            key = (kind, circumstance) if circumstance else (kind,)
            title = f"a build computes other {kind} than documented"
            title += f" ({circumstance})" if circumstance else ""
            violation = Violation(title, f"{e.function}: {wrong}", key)
        return violation.blame(ORACLE.name, culprit or f"{_label(pipeline)} ({COMBINATION})")
    return None


def _of_step(mod: tvm.IRModule, pipeline: str) -> Violation | None:
    """The violation of the first step that does not preserve the values of its input, as a check of
    this pass alone reports it: a bug of a pass needs no row for each pipeline that runs it."""
    for call in pipelines.steps_on(mod, pipeline):
        runs = run_alone(mod, call)
        if evaluated.ORACLE.promised(runs):
            for found in evaluated.ORACLE.violations(runs):
                return found.blame(ORACLE.name, call.name)
        if runs.direct.mod is None:
            return None
        mod = runs.direct.mod
    return None


def _abstain(mod: tvm.IRModule) -> None:
    """Log the reason why the values of a build are not compared."""
    undefined = given(mod).expectations.undefined
    if undefined is not None:
        abstain(inventory.NO_ARGUMENTS, f"it is built; {undefined}")
    else:
        abstain(inventory.NOT_EXECUTED, "it is built, and no result is known to compare with")


def _is_accident(e: Expectation, wrong: str, unwritten: _Unwritten) -> bool:
    """True if the module itself permits a difference that no operator shows alone."""
    # A branch may depend on an output that stays unwritten.
    if unwritten() and excused(inventory.LEFT_UNWRITTEN, wrong):
        return True
    # Code may give 0 for x - x and x * 0, even for NaN and infinity.
    return not _is_finite(e) and excused(inventory.NONFINITE_DIFFERENCE, wrong)


def _is_finite(e: Expectation) -> bool:
    return e.finite and all(map(finite, e.args))


def outcomes(
    mod: tvm.IRModule, pipeline: str, journal: StepJournal
) -> tuple[list[Expectation], list[Any] | Failure | None]:
    """Calls with expected results, and their outcomes in the VM, made only once; see `execute`."""
    if any(is_bound_to_threads(func) for _, func in prim_funcs(mod)):
        abstain(
            inventory.NOT_EXECUTED,
            "a PrimFunc is bound to the threads of a device: it is not code for the CPU",
        )
        return [], None
    known = given(mod)
    expected = _calls(mod, journal)
    if pipeline not in known.executed:
        journal("execute")
        plans = [e.plan() for e in expected]
        # A module that is only built must be for the CPU, as one that the VM runs must.
        made = execute(mod, plans or [_no_call], pipeline)
        known.executed[pipeline] = made if plans or not isinstance(made, list) else []
    return expected, known.executed[pipeline]


def _calls(mod: tvm.IRModule, journal: StepJournal = silent) -> list[Expectation]:
    """All calls that a build must carry out, including those without a promised result."""
    known = given(mod)
    if known.calls is None:
        calls = [] if known.example is None else [known.example]
        if not calls or calls[0].seconds < SECONDS:
            calls += known.expectations.all(kinds=tuple(InputKind), journal=journal)
        spent = itertools.accumulate(e.seconds for e in calls)
        few = [e for e, seconds in zip(calls, spent, strict=True) if seconds < SECONDS]
        few = few or calls[:1]
        for e in calls[len(few) :]:
            note(inventory.NO_TIME, f"not built for: {e.kind}")
        known.calls = [*few, *known.expectations.unpromised(journal)]
    return known.calls


SECONDS = 0.5
"""CPU time in NumPy for the calls that a build carries out, except the first. Loops without a
schedule take some ten times as long as NumPy's matrix products."""


def _no_call(run: VMRunner) -> None:
    """A plan for a build that is not to be called."""


_Wrong: TypeAlias = tuple[Expectation, Any, str]


def _wrong(
    mod: tvm.IRModule, expected: list[Expectation], actual: list[Any], pipeline: str
) -> Iterator[_Wrong]:
    """Yields the wrong calls, each with its outcome and the difference.

    In a large module, a call must be wrong in unoptimised code, too.
    """
    calls = _differing(expected, actual)
    first = next(calls, None)
    if first is None:
        return
    calls = itertools.chain([first], calls)
    if is_large(mod):
        odd = [e for e, _, _ in calls]
        again = execute(mod, [e.plan() for e in odd], pipeline, optimize=False)
        calls = _differing(odd, again) if isinstance(again, list) else iter(())
    yield from calls


def _differing(expected: list[Expectation], actual: list[Any]) -> Iterator[_Wrong]:
    for e, value in zip(expected, actual, strict=True):
        wrong = e.differs(value)
        if wrong is not None:
            yield e, value, wrong


def _circumstance(mod: tvm.IRModule, e: Expectation, pipeline: str) -> str | None:
    """The circumstance required for a wrong value: special values, or earlier calls."""
    if e.kind is InputKind.SPECIAL:
        return str(e.kind)
    single = execute(mod, [e.plan()], pipeline)
    right = isinstance(single, list) and e.differs(single[0]) is None
    return AFTER_OTHERS if right else None


def _of_operators(pipeline: str) -> str:
    """The pipeline for judging operators: never one of the user's, which may be to blame."""
    return pipelines.BUILT if pipelines.is_own(pipeline) else pipeline


def _label(pipeline: str) -> str:
    return own(pipeline)[1] if pipelines.is_own(pipeline) else pipeline


def _raised(e: Expectation, failure: Failure) -> Violation:
    """The violation raised by the VM for arguments for which the function is defined."""
    found = failure.violation
    return found.under("a build raises in the VM", detail=f"{e.function}: {found.detail}")


def _made_private(mod: tvm.IRModule, pipeline: str, value: Any) -> bool:
    """True if the build lacks the function because FuseTIR makes a private PrimFunc of a group."""
    if not isinstance(value, Failure) or NO_FUNCTION not in value.text:
        return False
    fusing = [call for call in pipelines.steps(pipeline) if call.name == pass_to(Stage.TIR_FUSED)]
    return any(contract_of(call).exemption("functions", mod, call) for call in fusing)


def _is_exempt(mod: tvm.IRModule, pipeline: str, wrong: str) -> bool:
    """True if a step of the pipeline does not promise to keep the values of this module."""
    calls = pipelines.steps(pipeline)
    exempt = any(contract_of(call).exemption("values", mod, call) for call in calls)
    return exempt and excused(inventory.EXEMPTION, wrong)


def _of_memory(mod: tvm.IRModule, journal: StepJournal, unwritten: _Unwritten) -> Violation | None:
    """The violation of legalized code that leaves an output unwritten if there are no elements.

    The values are random and may be right, so a reproducer cannot rely on them.
    """
    if not _has_empty_tensors(mod):
        return None
    journal("sanitize")
    found = unwritten()
    if found is None:
        return None
    violation = sanitized.violation_of(found, _legalized(mod))
    return violation.blame(ORACLE.name, LEGALIZES.name)


def _has_empty_tensors(mod: tvm.IRModule) -> bool:
    """True if a call has an argument without elements, or operands without a known value."""
    known = given(mod).expectations
    names = [str(gvar.name_hint) for gvar, _ in entries(mod)]
    empty = any(
        getattr(arg, "size", 1) == 0 for e in known.all(kinds=tuple(InputKind)) for arg in e.args
    )
    return empty or any(known.valueless(name) for name in names)


LEGALIZES = bare_call(LEGALIZER)


def _legalized(mod: tvm.IRModule) -> PassRuns:
    return run_alone(mod, LEGALIZES)


def _unwritten(mod: tvm.IRModule) -> sanitized.FaultWitness | None:
    """The fault of legalized code that leaves an output, or an operand of it, unwritten."""
    found = sanitized.find(_legalized(mod))
    if found is None or found.fault.kind not in (UNWRITTEN, UNINITIALISED):
        return None
    return found


def _not_built(mod: tvm.IRModule, failure: Failure, pipeline: str) -> Violation | None:
    """The violation if code generation fails after all passes, which have checks of their own."""
    if REFUSALS.search(failure.text) and excused(inventory.BUILD_REFUSAL, headline(failure.text)):
        return None
    if not all(executes(f) for _, f in public_functions(mod)):
        abstain(inventory.NOT_EXECUTED, headline(failure.text))
        return None
    return _located(mod, failure, pipeline)


def _located(mod: tvm.IRModule, failure: Failure, pipeline: str) -> Violation:
    """The violation of code generation, with the operator that fails alone."""
    found = failure.violation
    single = unbuilt.culprit(mod, failure, pipeline)
    if single is not None:
        title = f"{found.title} ({single.op})"
        detail = f"{single.place} alone fails in the same way\n{found.detail}"
        found = dataclasses.replace(found, title=title, detail=detail)
    return found.blame(ORACLE.name, CODE_GENERATION)


def culprit(mod: tvm.IRModule, pipeline: str) -> unbuilt.Single | None:
    """The call that alone prevents a build of the module; None if there is none."""
    failure = outcomes(mod, pipeline, silent)[1]
    return unbuilt.culprit(mod, failure, pipeline) if isinstance(failure, Failure) else None


def _died(
    mod: tvm.IRModule, expected: list[Expectation], death: ProcessDeath, pipeline: str
) -> Violation | None:
    """The violation if the process dies in code generation, or in code on defined arguments."""
    if death.step == "build":
        return _located(mod, death, pipeline)
    case = expected[death.plan] if expected else None
    culprit = None if case is None else _culprit(mod, case, _of_operators(pipeline))
    if case is not None and not (culprit or case.promised) and excused(inventory.OPEN, death.text):
        return None
    return death.violation.blame(ORACLE.name, culprit or f"{_label(pipeline)} ({COMBINATION})")


def _culprit(mod: tvm.IRModule, case: Expectation, pipeline: str) -> str | None:
    """The operator whose result is wrong in a separate function, on its original operands."""
    singles = list(_operators(mod, case))
    for start in range(0, len(singles), TOGETHER):
        batch = singles[start : start + TOGETHER]
        together = tvm.IRModule({each.function: each.mod[each.function] for _, each in batch})
        results = execute(together, [each.plan() for _, each in batch], pipeline)
        for place, (name, single) in enumerate(batch):
            if isinstance(results, list):
                own: Any = results[place : place + 1]
            else:  # one of them killed the process, or was refused
                own = execute(single.mod, [single.plan()], pipeline)
            if isinstance(own, ProcessDeath) or (
                isinstance(own, list) and single.differs(own[0]) is not None
            ):
                return name
    return None


def _operators(mod: tvm.IRModule, case: Expectation) -> Iterator[tuple[str, Expectation]]:
    """Yields each operator that ran, with a call of a separate function named after its place."""
    values: dict[Any, Any] = {}
    case.evaluate(watch=values.__setitem__)
    for place, binding in enumerate(bindings_of(mod)):
        call = binding.value
        name = op_name(call)
        if name is None or binding.var not in values or name.removeprefix("relax.") not in table:
            continue
        # An operand that is constant when code is made has the effect of the same operand twice.
        single = alone(call, values, constants=_is_finite(case))
        if single is None:
            continue
        symbol = f"f{place}"
        function = single[0]["main"].with_attr("global_symbol", symbol)
        only = tvm.IRModule({symbol: function})
        expected = _expected(only, symbol, single[1])
        if expected is not None:
            yield name, expected


def _expected(mod: tvm.IRModule, function: str, args: list[Any]) -> Expectation | None:
    """A call with its result, promised or not; None if the evaluator does not know it."""
    for promised in (True, False):
        try:
            result = Evaluator(mod, promised=promised).run(function, args)
        except Unpromised:
            continue
        except (Unsupported, Mismatch, Undefined):
            break
        made = Expectation(mod, function, args, result)
        made.promised = promised
        return made
    return None


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    assert case.pipeline is not None
    if violation.pass_name == CODE_GENERATION and case.pipeline == "default":
        yield 'relax.build(mod, "llvm")'
    shown = _shown(case)
    for e, _ in shown:
        yield from against_numpy(e, case.pipeline)
    if not shown and _unwritten(case.mod) is not None:
        alone = dataclasses.replace(case, calls=(LEGALIZES,), pipeline=None)
        text = sanitized.sanitizer_text(alone) or ""
        yield text.replace("the_pass(mod)", "tvm.relax.transform.LegalizeOps()(mod)")


def _halves(case: Case, violation: Violation) -> Halves | None:
    e, value = next(iter(_shown(case)), (None, None))
    if e is None or value is None:
        return None
    return (
        Half("NumPy", None, called(e.function, e.args, e.result)),
        Half(f"a build by the pipeline {case.pipeline}", None, called(e.function, e.args, value)),
    )


def _shown(case: Case) -> list[tuple[Expectation, Any]]:
    """The calls to show, with their outcomes: a wrong value, or the failure of the build."""
    assert case.pipeline is not None
    expected = _calls(case.mod)
    actual = execute(case.mod, [e.plan() for e in expected], case.pipeline)
    if not isinstance(actual, list):
        return [(e, actual) for e in expected]
    wrong = [(e, value) for e, value, _ in _differing(expected, actual)]
    if _unwritten(case.mod) is not None:
        wrong = [(e, value) for e, value in wrong if e.kind is not InputKind.EMPTY]
    return wrong[:MOST]


ORACLE = Oracle(
    name="executed-by-pipeline",
    breach=Breach(FailureKind.VALUES),
    tier=4,
    promise="A build computes what the documentation of the operators says.",
    source="docstrings of the operators in tvm.relax.op; docs/arch/index.rst: the runtime executes "
    "the compiled program",
    brief=_brief,
    halves=_halves,
)
