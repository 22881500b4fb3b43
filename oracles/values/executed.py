"""Executed semantics of passes: what the result computes is what the module computes.

There are four values: evaluated and executed, before the pass and after. The pass is guilty where
evaluator and VM agree with each other on both sides and the sides differ; what the evaluator does
not know (e.g. after LegalizeOps) leaves the vote to the VM. A disagreement before the pass is one
of code generation (or of the evaluator): `pipeline_values` reports it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ...compat.serialization import load_json, save_json
from ...generators.ops.record import Tolerance
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unsupported
from ..execute import Death, Failure, execute
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain, excused
from ..silence.rule import SilenceRule
from ..text.messages import headline
from ..text.short_value_checks import both_sides, refused
from ..text.value_comments import called
from ..text.value_reproducer import executed_text
from ..violation import Case, Violation
from . import blame
from .expectation import Expectation
from .sides import rule_of, tolerance_of


def executed(runs: PassRuns) -> Violation | None:
    """What the result computes in the VM is what the module meant before the pass."""
    expected, others = _calls(runs)
    if not expected:
        undefined = runs.given.expectations.undefined
        abstain(inventory.NO_ARGUMENTS if undefined else inventory.NOT_EXECUTED, undefined or "")
        return None
    after = runs.direct.mod
    assert after is not None
    tolerance = tolerance_of(runs)
    runs.step("execute the result")
    actual = execute(after, [side.plan() for side in others])
    if isinstance(actual, Death):
        return _died(runs, expected, others, actual)
    if not isinstance(actual, list):
        abstain(*_no_values(actual, "result"))
        return None
    odd = [
        (e, side, value, wrong)
        for e, side, value in zip(expected, others, actual, strict=True)
        if (wrong := e.differs(value, tolerance)) is not None
    ]
    if not odd:
        return None
    runs.step("execute the module")
    reference = execute(runs.mod, [e.plan() for e, *_ in odd])
    if not isinstance(reference, list):
        abstain(*_no_values(reference, "module"))
        return None
    for (e, side, value, wrong), own in zip(odd, reference, strict=True):
        agree = e.differs(own) is None and _agree(side, value, tolerance)
        if not agree and excused(inventory.REFUTED, wrong):
            continue
        if isinstance(value, Failure):
            # Where the VM notices what is wrong is an accident.
            what = "the result raises in the VM, where the module does not"
            return Violation(f"{what}: {value.error}", f"{e.function}: {wrong}", (what,))
        kind = wrong.split(":", 1)[0]
        side.result = value
        where = blame.first_difference(e, side, tolerance)
        key = (kind, where)
        title = f"the result computes other {kind} than the module, starting with {where}"
        return Violation(title, f"{e.function}: {wrong}", key)
    return None


def _no_values(outcome: Failure | None, side: str) -> tuple[SilenceRule, str]:
    """The rule by which a side that the VM gives no values for is left out, and the reason."""
    if outcome is None:
        return inventory.TIMED_OUT, f"the {side} takes too long in the VM"
    return inventory.LATER_PASS, f"the VM cannot build the {side}: {headline(outcome.text)}"


def _calls(runs: PassRuns) -> tuple[list[Expectation], list[Expectation]]:
    """Calls of the module, with what they must give, and those of the result."""
    rule, after = rule_of(runs), runs.direct.mod
    if rule is None or after is None:
        return [], []
    expected, plan = runs.given.expectations.all(rule, journal=runs.step), rule.plan
    return expected, [
        Expectation(after, e.function, e.args, None, e.kind, functools.partial(plan, e.function))
        for e in expected
    ]


def _died(
    runs: PassRuns, expected: list[Expectation], others: list[Expectation], death: Death
) -> Violation | None:
    """The result, which evaluates to something else, kills the process; the module does not."""
    if death.step == "lower":
        return None  # a later pass does, which has checks of its own
    built = death.step == "build"
    concerned = expected if built else [expected[death.plan]]
    sides = others if built else [others[death.plan]]
    if all(_means(e, side) for e, side in zip(concerned, sides, strict=True)):
        return None
    runs.step("execute the module")
    reference = execute(runs.mod, [e.plan() for e in concerned])
    if not isinstance(reference, list):
        return None
    if any(e.differs(own) is not None for e, own in zip(concerned, reference, strict=True)):
        return None
    what = f"the result kills the process in the VM ({death.step}), where the module does not"
    return Violation(f"{what}: {death.error}", death.text, (what, death.error))


def _means(expected: Expectation, side: Expectation) -> bool:
    """The evaluator gives what is expected for this side."""
    try:
        return expected.differs(side.evaluate()) is None
    except (Unsupported, Mismatch, Undefined):
        return False


def _agree(side: Expectation, actual: Any, tolerance: Tolerance | None) -> bool:
    """Evaluator and VM agree on the result, or the evaluator does not know it."""
    try:
        side.result = side.evaluate()
    except Unsupported:
        return True
    except (Mismatch, Undefined):
        return isinstance(actual, Failure)
    return not isinstance(actual, Failure) and side.differs(actual, tolerance) is None


def _snippet(case: Case) -> str:
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True)
    rule = rule_of(runs)
    if rule is None:
        return "apply(mod)"
    expected = runs.given.expectations.all(rule)
    calls = [rule.text(e.function) for e in expected]
    return executed_text(expected, calls, tolerance_of(runs), after=runs.direct.mod)


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True)
    rule = rule_of(runs)
    for e in runs.given.expectations.all(rule) if rule is not None else ():
        assert rule is not None
        yield from both_sides(e, rule.text(e.function), tolerance_of(runs), runs.direct.mod)
        yield from refused(e, rule.text(e.function), runs.direct.mod)


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    before = load_json(save_json(case.mod))
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True)
    expected, others = _calls(runs)
    after = runs.direct.mod
    if after is None or not expected:
        return None
    tolerance = tolerance_of(runs)
    actual = execute(after, [side.plan() for side in others])
    odd = [(expected[0], actual)]
    if isinstance(actual, list):
        pairs = zip(expected, actual, strict=True)
        odd = [(e, value) for e, value in pairs if e.differs(value, tolerance) is not None]
    if not odd or odd[0][1] is None:
        return None
    e, value = odd[0]
    return (
        Half(f"before {call.name}", before, called(e.function, e.args, e.result)),
        Half(f"after {call.name}", after, called(e.function, e.args, value)),
    )


ORACLE = Oracle(
    name="executed",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=20.0,  # 150 where the pass changes a module that the evaluator knows
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=executed,
    snippet=_snippet,
    brief=_brief,
    halves=_halves,
)
