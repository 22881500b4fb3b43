"""Executed semantics of whole builds: what the VM computes is what NumPy computes.

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
from .. import pipelines
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unpromised, Unsupported
from ..evaluate import Evaluator
from ..execute import Death, Failure, Run, execute, is_large
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import (
    bindings_of,
    entries,
    is_bound_to_threads,
    op_name,
    prim_funcs,
    public_functions,
)
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns, given
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain, excused
from ..tensorir.sanitizer.runtime import UNINITIALISED, UNWRITTEN
from ..text.messages import headline
from ..text.short_value_checks import against_numpy
from ..text.value_comments import called
from ..text.value_reproducer import executed_text
from ..violation import Case, Journal, Violation, silent
from . import sanitized, unbuilt
from .blame import alone
from .comparison import finite
from .expectation import Expectation
from .expectations import executes
from .inputs import Kind
from .unbuilt import TOGETHER

COMBINATION = "a combination of operators"
MOST = 3
"""Calls in a reproducer."""

CODE_GENERATION = "relax.build"

AFTER_OTHERS = "after other calls"
"""The call is right where it is the first: one before it has left something behind."""

NO_FUNCTION = "Module has no function"
"""What the VM says of the name of a function that the build does not export."""

REFUSALS = re.compile(
    # An operator without legalization, or on operands of unknown shape.
    r"CodeGenVM cannot emit this Relax operator directly. Run the appropriate lowering pass"
    # A packed function or an external library that is not linked.
    r"|Cannot find (?:ffi::Function|PackedFunc)"
)
"""Clean refusals: the message names what is missing."""


def check(mod: tvm.IRModule, pipeline: str, journal: Journal) -> Violation | None:
    """What is wrong with the values that a module computes after a whole pipeline, or None."""
    unwritten = functools.cache(lambda: _unwritten(mod))
    return _of_values(mod, pipeline, journal, unwritten) or _of_memory(mod, journal, unwritten)


_Unwritten: TypeAlias = Callable[[], sanitized.Found | None]


def _of_values(
    mod: tvm.IRModule, pipeline: str, journal: Journal, unwritten: _Unwritten
) -> Violation | None:
    expected, actual = outcomes(mod, pipeline, "bytecode", journal)
    if isinstance(actual, Death):
        return _died(mod, expected, actual, pipeline)
    if isinstance(actual, Failure):
        return _not_built(mod, actual, pipeline)
    if actual is None:
        abstain(inventory.TIMED_OUT)
        return None
    if not any(e.promised for e in expected):
        _abstain(mod)
    for e, value, wrong in _wrong(mod, expected, actual, pipeline):
        if e.kind is Kind.EMPTY and unwritten() and excused(inventory.LEFT_UNWRITTEN, wrong):
            continue
        if _made_private(mod, pipeline, value) and excused(inventory.EXEMPTION, wrong):
            continue
        culprit = _culprit(mod, e, pipeline)
        if not (culprit or e.promised) and excused(inventory.OPEN, wrong):
            continue  # of a value that is not promised more may depend
        if isinstance(value, Failure):
            violation = _raised(e, value)
        elif culprit is None and _is_accident(e, wrong, unwritten):
            continue
        else:
            kind = wrong.split(":", 1)[0]
            circumstance = None if culprit else _circumstance(mod, e, pipeline)
            key = (kind, circumstance) if circumstance else (kind,)
            title = f"a build computes other {kind} than documented"
            title += f" ({circumstance})" if circumstance else ""
            violation = Violation(title, f"{e.function}: {wrong}", key)
        return violation.blame(ORACLE.name, culprit or f"{pipeline} ({COMBINATION})")
    return None


def _abstain(mod: tvm.IRModule) -> None:
    """Log why the values of a build are not compared."""
    undefined = given(mod).expectations.undefined
    if undefined is not None:
        abstain(inventory.NO_ARGUMENTS, f"it is built; {undefined}")
    else:
        abstain(inventory.NOT_EXECUTED, "it is built, and no result is known to compare with")


def _is_accident(e: Expectation, wrong: str, unwritten: _Unwritten) -> bool:
    """A difference that no operator shows alone, and that the module itself does not rule out."""
    # A branch may hinge on an output that is left unwritten.
    if unwritten() and excused(inventory.LEFT_UNWRITTEN, wrong):
        return True
    # x - x and x * 0 are 0, for NaN and infinity as well.
    return not _is_finite(e) and excused(inventory.NONFINITE_DIFFERENCE, wrong)


def _is_finite(e: Expectation) -> bool:
    return e.finite and all(map(finite, e.args))


def outcomes(
    mod: tvm.IRModule, pipeline: str, mode: str, journal: Journal
) -> tuple[list[Expectation], list[Any] | Failure | None]:
    """What calls must give, and what they give in the VM, found out once; see `execute`."""
    if any(is_bound_to_threads(func) for _, func in prim_funcs(mod)):
        abstain(
            inventory.NOT_EXECUTED,
            "a PrimFunc is bound to the threads of a device: it is not code for the CPU",
        )
        return [], None
    known = given(mod)
    expected = _calls(mod, journal)
    if (pipeline, mode) not in known.executed:
        journal(f"execute as {mode}")
        plans = [e.plan() for e in expected]
        # A module that is only built must be for the CPU, as one that the VM runs must.
        made = execute(mod, plans or [_no_call], pipeline, mode)
        known.executed[pipeline, mode] = made if plans or not isinstance(made, list) else []
    return expected, known.executed[pipeline, mode]


def _calls(mod: tvm.IRModule, journal: Journal = silent) -> list[Expectation]:
    """All calls that a build must carry out, those without a promised result among them."""
    known = given(mod).expectations
    return [*known.all(kinds=tuple(Kind), journal=journal), *known.unpromised(journal)]


def _no_call(run: Run) -> None:
    """A plan for a build that is not called."""


_Wrong: TypeAlias = tuple[Expectation, Any, str]


def _wrong(
    mod: tvm.IRModule, expected: list[Expectation], actual: list[Any], pipeline: str
) -> Iterator[_Wrong]:
    """The calls that go wrong, with what came and how that differs: of a large module those that go
    wrong in unoptimised code, too.
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
    """What a wrong value needs besides the module: special values, or calls before it."""
    if e.kind is Kind.SPECIAL:
        return str(e.kind)
    single = execute(mod, [e.plan()], pipeline)
    right = isinstance(single, list) and e.differs(single[0]) is None
    return AFTER_OTHERS if right else None


def _raised(e: Expectation, failure: Failure) -> Violation:
    """The VM raises for arguments for which the function is defined."""
    found = failure.violation
    return found.under("a build raises in the VM", detail=f"{e.function}: {found.detail}")


def _made_private(mod: tvm.IRModule, pipeline: str, value: Any) -> bool:
    """The build lacks the function, because FuseTIR makes a private PrimFunc of a group."""
    if not isinstance(value, Failure) or NO_FUNCTION not in value.text:
        return False
    fusing = [call for call in pipelines.steps(pipeline) if call.name == "FuseTIR"]
    return any(contract_of(call).exemption("functions", mod, call) for call in fusing)


def _of_memory(mod: tvm.IRModule, journal: Journal, unwritten: _Unwritten) -> Violation | None:
    """Legalized code that leaves an output unwritten, where there are no elements.

    The values are left to chance, so that they may be right, and no reproducer could rely on them.
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
    """A call has an argument without elements, or operands for which no value is known."""
    known = given(mod).expectations
    names = [str(gvar.name_hint) for gvar, _ in entries(mod)]
    empty = any(
        getattr(arg, "size", 1) == 0 for e in known.all(kinds=tuple(Kind)) for arg in e.args
    )
    return empty or any(known.valueless(name) for name in names)


LEGALIZES = PassCall("LegalizeOps()")


def _legalized(mod: tvm.IRModule) -> PassRuns:
    return PassRuns(mod, (LEGALIZES,), contract_of(LEGALIZES), alone=True, thorough=True)


def _unwritten(mod: tvm.IRModule) -> sanitized.Found | None:
    """Legalized code that leaves an output, or what it is computed from, unwritten."""
    found = sanitized.find(_legalized(mod))
    if found is None or found.fault.kind not in (UNWRITTEN, UNINITIALISED):
        return None
    return found


def _not_built(mod: tvm.IRModule, failure: Failure, pipeline: str) -> Violation | None:
    """Code generation fails where every pass of the pipeline succeeds; passes have own checks."""
    if failure.step == "lower":
        # A pass fails, which has own checks.
        abstain(inventory.LATER_PASS, headline(failure.text))
        return None
    if REFUSALS.search(failure.text) and excused(inventory.BUILD_REFUSAL, headline(failure.text)):
        return None
    if not all(executes(f) for _, f in public_functions(mod)):
        return None
    return _located(mod, failure, pipeline)


def _located(mod: tvm.IRModule, failure: Failure, pipeline: str) -> Violation:
    """The failure of code generation, with the operator that fails alone."""
    found = failure.violation
    single = unbuilt.culprit(mod, failure, pipeline)
    if single is not None:
        title = f"{found.title} ({single.op})"
        detail = f"{single.place}\n{found.detail}"
        found = dataclasses.replace(found, title=title, detail=detail)
    return found.blame(ORACLE.name, CODE_GENERATION)


def smaller(mod: tvm.IRModule, pipeline: str, violation: Violation) -> tvm.IRModule | None:
    """The one call that keeps a module from being built, in a module of its own.

    None where the violation is another one, or no call alone shows it.
    """
    if (violation.oracle, violation.pass_name) != (ORACLE.name, CODE_GENERATION):
        return None
    failure = outcomes(mod, pipeline, "bytecode", silent)[1]
    single = unbuilt.culprit(mod, failure, pipeline) if isinstance(failure, Failure) else None
    return None if single is None else single.mod


def _died(
    mod: tvm.IRModule, expected: list[Expectation], death: Death, pipeline: str
) -> Violation | None:
    """The process ends in code generation, or in code that runs on arguments that are defined."""
    if death.step == "lower":
        return None
    if death.step == "build":
        return _located(mod, death, pipeline)
    case = expected[death.plan] if expected else None
    culprit = None if case is None else _culprit(mod, case, pipeline)
    if case is not None and not (culprit or case.promised) and excused(inventory.OPEN, death.text):
        return None
    return death.violation.blame(ORACLE.name, culprit or f"{pipeline} ({COMBINATION})")


def _culprit(mod: tvm.IRModule, case: Expectation, pipeline: str) -> str | None:
    """The operator that gives another result in a function of its own, on values that it had."""
    singles = list(_operators(mod, case))
    for start in range(0, len(singles), TOGETHER):
        batch = singles[start : start + TOGETHER]
        together = tvm.IRModule({each.function: each.mod[each.function] for _, each in batch})
        results = execute(together, [each.plan() for _, each in batch], pipeline)
        for place, (name, single) in enumerate(batch):
            if isinstance(results, list):
                own: Any = results[place : place + 1]
            else:  # one of them ended it, or was refused
                own = execute(single.mod, [single.plan()], pipeline)
            if isinstance(own, Death) or (
                isinstance(own, list) and single.differs(own[0]) is not None
            ):
                return name
    return None


def _operators(mod: tvm.IRModule, case: Expectation) -> Iterator[tuple[str, Expectation]]:
    """Each operator that ran, with a call of a function of its own, whose name is its place."""
    values: dict[Any, Any] = {}
    case.evaluate(watch=values.__setitem__)
    for place, binding in enumerate(bindings_of(mod)):
        call = binding.value
        name = op_name(call)
        if name is None or binding.var not in values or name.removeprefix("relax.") not in table:
            continue
        # An operand that is known when the code is made is as the same one twice.
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
    """A call with its result, promised or not; None where the evaluator does not know it."""
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


def _snippet(case: Case) -> str:
    assert case.pipeline is not None
    expected = [e for e, _ in _shown(case)]
    if not expected and _unwritten(case.mod) is not None:
        text = sanitized.snippet(dataclasses.replace(case, calls=(LEGALIZES,), pipeline=None))
        return text.replace("apply(mod)", "tvm.relax.transform.LegalizeOps()(mod)")
    texts = [f"actual = run({e.function!r}, args)" for e in expected]
    return executed_text(expected, texts, pipeline=case.pipeline, after=case.mod)


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    assert case.pipeline is not None
    if violation.pass_name == CODE_GENERATION and case.pipeline == "default":
        yield 'relax.build(mod, "llvm")'
    for e, _ in _shown(case):
        if e.promised:
            yield from against_numpy(e, None, case.pipeline)


def _halves(case: Case, violation: Violation) -> Halves | None:
    e, value = next(iter(_shown(case)), (None, None))
    if e is None or value is None:
        return None
    return (
        Half("NumPy", None, called(e.function, e.args, e.result)),
        Half(f"a build by the pipeline {case.pipeline}", None, called(e.function, e.args, value)),
    )


def _shown(case: Case) -> list[tuple[Expectation, Any]]:
    """The calls to show, with what came: something else, or nothing where the build fails."""
    assert case.pipeline is not None
    expected = _calls(case.mod)
    actual = execute(case.mod, [e.plan() for e in expected], case.pipeline)
    if not isinstance(actual, list):
        return [(e, actual) for e in expected]
    wrong = [(e, value) for e, value, _ in _differing(expected, actual)]
    if _unwritten(case.mod) is not None:
        wrong = [(e, value) for e, value in wrong if e.kind is not Kind.EMPTY]
    return wrong[:MOST]


ORACLE = Oracle(
    name="executed-by-pipeline",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=5.0,  # 150 for a pipeline, and few checks are of pipelines
    worth=10.0,
    promise="A build computes what the documentation of the operators says.",
    source="docstrings of the operators in tvm.relax.op; docs/arch/index.rst: the runtime executes "
    "the compiled program",
    snippet=_snippet,
    brief=_brief,
    halves=_halves,
    of_pipelines=True,
)
