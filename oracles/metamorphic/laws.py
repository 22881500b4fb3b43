"""Laws of operators: code agrees with itself where nothing documents a single result.

An operator is called by itself, in functions of its own, on other numbers than the module has; see
`generators/ops/laws.py`. So neither what is wrong elsewhere in the module nor a value that nobody
has defined keeps a violation back. The operator is blamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tvm

from ...generators.ops import table
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Plan, execute, from_numpy, to_numpy
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import ops_used
from ..keys import computes
from ..oracle import Oracle
from ..pass_runs import PassRuns, digest
from ..silence import inventory
from ..silence.log import abstain
from ..text.standalone import nested_module, standalone
from ..text.value_reproducer import PIPELINE_TEXTS, assert_close, literal, machine_text
from ..violation import Case, Journal, Violation
from .questions import WITH_NAN, Question, Subject, subjects

REMEMBERED = 4096
"""Verdicts on calls that are kept."""

# One pass that makes code of operators


def check(runs: PassRuns) -> tuple[Violation, ...]:
    """The laws that the code breaks which a pass makes of an operator, in NumPy and in the VM."""
    after = runs.changed_result()
    if after is None:
        return ()
    found: dict[tuple[str, ...], Violation] = {}
    judged, left = False, ops_used(after)
    for subject in subjects(runs.mod):
        if subject.op in left:
            continue
        broken = _broken(runs, subject)
        judged |= broken is not None
        for each in broken or ():
            found.setdefault((each.pass_name, *each.key), each)
    if not judged:
        abstain(inventory.NO_PROMISE, "the pass makes code of no operator that has laws")
    return tuple(found.values())


def _broken(runs: PassRuns, subject: Subject) -> tuple[Violation, ...] | None:
    """The laws that one kind of call breaks; None where the pass makes no code of it.

    Small calls are the same in many modules. A user's own pass may remember the last one.
    """
    if runs.call.factory is not None:
        return _judged(runs, subject)
    known = str(runs.call), digest(subject.mod)
    if known not in _verdicts:
        if len(_verdicts) > REMEMBERED:
            _verdicts.clear()
        _verdicts[known] = _judged(runs, subject)
    return _verdicts[known]


_verdicts: dict[tuple[str, int], tuple[Violation, ...] | None] = {}
"""By pass of TVM and call."""


def _judged(runs: PassRuns, subject: Subject) -> tuple[Violation, ...] | None:
    after = _lowered(runs, subject.mod)
    if after is None:
        return None
    found: dict[tuple[str, ...], Violation] = {}
    runs.step("evaluate an operator")
    for question in subject.questions:
        if (question.broken,) not in found and _suspicious(question, after):
            violation = _violation(question, execute(after, question.plans()))
            if violation is not None:
                found[violation.key] = violation
    return tuple(found.values())


def _lowered(runs: PassRuns, mod: tvm.IRModule) -> tvm.IRModule | None:
    """The result of the pass for a module; None where an operator is left."""
    if runs.contract.requires(mod) is not None:
        return None
    runs.step("apply the pass to an operator")
    after = PassRuns(mod, runs.calls, runs.contract, alone=True).direct.mod
    if after is None or any(map(computes, ops_used(after))):
        return None
    return after


def _suspicious(question: Question, after: tvm.IRModule) -> bool:
    """The law is broken in NumPy."""
    try:
        results = [plan(Evaluator(after, wraps=True).run) for plan in question.plans()]
    except (Unsupported, Mismatch, Undefined):
        return False
    return question.wrong(results) is not None


def _violation(question: Question, results: Any) -> Violation | None:
    if not isinstance(results, list) or (wrong := question.wrong(results)) is None:
        return None
    detail = f"{wrong}\n{question.shown(results)}"
    title = f"{question.op} {question.broken}"
    return Violation(title, detail, (question.broken,), pass_name=question.op)


# Whole builds


def of_pipeline(mod: tvm.IRModule, pipeline: str, journal: Journal) -> tuple[Violation, ...]:
    """The laws that a build by the pipeline breaks."""
    journal("execute operators")
    asked = list(subjects(mod))
    if not asked:
        abstain(inventory.NO_PROMISE, "no operator of the module has laws")
        return ()
    functions = {name: func for each in asked for name, func in _named(each.mod)}
    questions = [question for each in asked for question in each.questions]
    together = execute(tvm.IRModule(functions), _plans(questions), pipeline)
    if isinstance(together, list):
        return _of_results(questions, together)
    found: dict[tuple[str, ...], Violation] = {}
    for each in asked:  # one of them is not built
        results = execute(each.mod, _plans(each.questions), pipeline)
        if isinstance(results, list):
            for violation in _of_results(each.questions, results):
                found.setdefault((violation.pass_name, *violation.key), violation)
    return tuple(found.values())


def _named(mod: tvm.IRModule) -> list[tuple[str, Any]]:
    return [(str(gvar.name_hint), func) for gvar, func in mod.functions_items()]


def _plans(questions: Sequence[Question]) -> list[Plan]:
    return [plan for question in questions for plan in question.plans()]


def _of_results(questions: Sequence[Question], results: Sequence[Any]) -> tuple[Violation, ...]:
    found: dict[tuple[str, ...], Violation] = {}
    left = iter(results)
    for question in questions:
        own = list(itertools.islice(left, len(question.functions)))
        violation = _violation(question, own)
        if violation is not None:
            blamed = violation.blame(LAWS_OF_BUILDS.name, question.op)
            found.setdefault((question.op, question.broken), blamed)
    return tuple(found.values())


# Reproducers


def _shown(case: Case, broken: str | None = None) -> tuple[Subject, Question] | None:
    """The first question whose answers break the law.

    Args:
        broken: in this way; None: in any.
    """
    for subject in subjects(case.mod):
        after, pipeline = subject.mod, case.pipeline or "default"
        if case.calls:
            runs = PassRuns(case.mod, case.calls, contract_of(case.calls[0]), alone=True)
            lowered = _lowered(runs, subject.mod)
            if lowered is None:
                continue
            after = lowered
        for question in subject.questions:
            if broken in (None, question.broken):
                results = execute(after, question.plans(), pipeline)
                if _violation(question, results) is not None:
                    return subject, question
    return None


def _text(case: Case, shown: tuple[Subject, Question], lowered: str) -> str:
    """Statements that build the operator and fail where it breaks the law.

    Args:
        lowered: an expression for what is built.
    """
    subject, question = shown
    trial = question.trial
    pipeline = PIPELINE_TEXTS[case.pipeline or "default"]
    parts = [
        standalone(from_numpy, to_numpy, assert_close),
        f"# A call of {question.op}, by itself.\n{nested_module('operator', subject.mod)}",
        machine_text(lowered, pipeline),
    ]
    calls = zip(question.functions, trial.calls, trial.views, strict=True)
    for number, (name, args, view) in enumerate(calls):
        given = [arg for arg in args if isinstance(arg, np.ndarray)]
        parts.append(
            f"args = {literal(given)}\nresult = run({name!r}, args)\nseen{number} = {view}"
        )
        if number:
            parts.append(f"assert_close(seen{number}, seen0, rtol=1e-3, atol=1e-3)")
    if trial.bounds is not None:
        low, high = (repr(bound).replace("inf", "np.inf") for bound in trial.bounds)
        verdict = "assert (seen0 >= low).all() and (seen0 <= high).all(), seen0"
        parts.append(f"low, high = {low}, {high}\n{verdict}")
    return "\n\n".join(parts)


def _snippet(case: Case) -> str:
    shown = _shown(case)
    if shown is None:
        return "apply(mod)" if case.calls else ""
    return _text(case, shown, "apply(operator())" if case.calls else "operator()")


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """The law that is broken, where others are broken, too."""
    shown = _shown(case, violation.key[0])
    if shown is not None:
        yield _text(case, shown, "the_pass(operator())" if case.calls else "operator()")


_SOURCE = (
    "docstrings of the operators in tvm.relax.op: a maximum, a sum, an average of elements, "
    "elements in order; none of them lets the place of an element decide"
)

_GRADES = {law.broken + WITH_NAN: Grade.B for record in table.values() for law in record.laws}

LAWS = Oracle(
    name="operator-laws",
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    grade_of=_GRADES,
    cost=20.0,  # 45 where the pass makes code of all operators, 2 for most passes
    promise="Code of an operator agrees with itself: on the same operands in another order, on one "
    "element alone, within the bounds of its operands.",
    source=_SOURCE,
    check=check,
    snippet=_snippet,
    brief=_brief,
    of_operators=True,
)

LAWS_OF_BUILDS = Oracle(
    name="operator-laws-by-pipeline",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    grade_of=_GRADES,
    cost=5.0,
    promise="A build of an operator agrees with itself: on the same operands in another order, on "
    "one element alone, within the bounds of its operands.",
    source=_SOURCE,
    snippet=_snippet,
    brief=_brief,
    of_pipelines=True,
    of_operators=True,
)
