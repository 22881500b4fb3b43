"""Laws of operators: code agrees with itself even if no single result is documented.

An operator is called by itself, in separate functions, on other numbers than in the module; see
`generators/ops/laws.py`. So neither other errors in the module nor undefined values hide a
violation. The operator is blamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tvm

from ..execute import Plan, execute
from ..identity import FailureKind
from ..oracle import About, Breach, Oracle
from ..silence import inventory
from ..silence.log import abstain
from ..snippets.value_reproducer import PIPELINE_TEXTS, assert_close, literal, machine_text
from ..text.scripted import nested_module
from ..violation import Case, StepJournal, Violation
from .questions import Question, Subject, subjects


def _violation(question: Question, results: Any) -> Violation | None:
    if not isinstance(results, list) or (wrong := question.wrong(results)) is None:
        return None
    detail = f"{wrong}\n{question.shown(results)}"
    title = f"{question.op} {question.broken}"
    return Violation(title, detail, (question.broken,), pass_name=question.op)


def check(mod: tvm.IRModule, pipeline: str, journal: StepJournal) -> tuple[Violation, ...]:
    """The laws that a build by this pipeline breaks."""
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
    for each in asked:  # one of them fails to build
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
            blamed = violation.blame(ORACLE.name, question.op)
            found.setdefault((question.op, question.broken), blamed)
    return tuple(found.values())


# Reproducers


def _shown(case: Case, broken: str | None = None) -> tuple[Subject, Question] | None:
    """The first question whose answers break the law.

    Args:
        broken: only laws broken in this way; None: any.
    """
    for subject in subjects(case.mod):
        for question in subject.questions:
            if broken in (None, question.broken):
                results = execute(subject.mod, question.plans(), case.pipeline or "default")
                if _violation(question, results) is not None:
                    return subject, question
    return None


def _text(case: Case, shown: tuple[Subject, Question]) -> str:
    """Statements that build the operator and fail if it breaks the law."""
    subject, question = shown
    trial = question.trial
    pipeline = PIPELINE_TEXTS[case.pipeline or "default"]
    parts = [
        f"# A call of {question.op}, by itself.\n{nested_module('operator', subject.mod)}",
        machine_text("operator()", pipeline, assert_close),
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


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """Python for this broken law alone."""
    shown = _shown(case, violation.key[0])
    if shown is not None:
        yield _text(case, shown)


_SOURCE = (
    "docstrings of the operators in tvm.relax.op: a maximum, a sum, an average of elements, "
    "elements in order; none of them lets the place of an element decide; IEEE 754-2019, 6.2: an "
    "operation with a quiet NaN that delivers a float delivers a quiet NaN"
)

ORACLE = Oracle(
    name="operator-laws-by-pipeline",
    breach=Breach(FailureKind.VALUES),
    about=About.OPERATORS,
    tier=4,
    promise="A build of an operator agrees with itself: on the same operands in another order, "
    "within the bounds of its operands, and NaN where its operand is NaN.",
    source=_SOURCE,
    brief=_brief,
)
