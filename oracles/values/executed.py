"""Executed semantics of passes: the result computes the same as the module in the VM.

There are four values: evaluated and executed, before the pass and after. The pass is to blame if
evaluator and VM agree on each side and the sides differ. If the evaluator does not know a value
(e.g. after LegalizeOps), the VM alone decides. A disagreement before the pass is an error of code
generation (or of the evaluator): `pipeline_values` reports it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ...compat.serialization import load_json, save_json
from ...generators.ops.record import Tolerance
from ..catalogue import documented
from ..errors import Mismatch, Undefined, Unsupported
from ..execute import Failure, ProcessDeath, execute
from ..expected.expectation import Expectation
from ..identity import FailureKind
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, run_alone
from ..silence import inventory
from ..silence.log import abstain, excused
from ..silence.rule import SilenceRule
from ..snippets.short_value_checks import both_sides, refused
from ..snippets.value_comments import called
from ..text.messages import headline
from ..violation import Case, Violation
from . import blame
from .sides import rule_of, tolerance_of


def executed(runs: PassRuns) -> Violation | None:
    """The first difference in the VM between the result's values and the module's, or None."""
    expected, others = calls(runs)
    if not expected:
        undefined = runs.given.expectations.undefined
        abstain(inventory.NO_ARGUMENTS if undefined else inventory.NOT_EXECUTED, undefined or "")
        return None
    after = runs.direct.mod
    assert after is not None
    tolerance = tolerance_of(runs)
    runs.step("execute the result")
    actual = execute(after, [side.plan() for side in others])
    if isinstance(actual, ProcessDeath):
        return _died(runs, expected, others, actual)
    if not isinstance(actual, list):
        return _unbuilt(runs, expected, actual)
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
            # The place where the VM notices the error is accidental.
            what = "the result raises in the VM, where the module does not"
            return Violation(f"{what}: {value.error}", f"{e.function}: {wrong}", (what,))
        kind = wrong.split(":", 1)[0]
        side.result = value
        where = blame.first_difference(e, side, tolerance)
        key = (kind, where)
        title = f"the result computes other {kind} than the module, starting with {where}"
        return Violation(title, f"{e.function}: {wrong}", key)
    return None


NO_LONGER = "the result builds no longer"


def _unbuilt(
    runs: PassRuns, expected: list[Expectation], failure: Failure | None
) -> Violation | None:
    """The violation if the VM cannot build the result of a user's pass, but can build the module.

    If the pass is TVM's, the later pass that fails on its result has its own check.
    """
    if failure is not None and not documented(runs.call):
        runs.step("execute the module")
        if isinstance(execute(runs.mod, [e.plan() for e in expected]), list):
            return failure.violation.under(NO_LONGER)
    abstain(*_no_values(failure, "result"))
    return None


def _no_values(outcome: Failure | None, side: str) -> tuple[SilenceRule, str]:
    """The rule by which a side without values in the VM is left out, and the reason."""
    if outcome is None:
        return inventory.NO_TIME, f"the {side} takes too long in the VM"
    return inventory.LATER_PASS, f"the VM cannot build the {side}: {headline(outcome.text)}"


def calls(runs: PassRuns) -> tuple[list[Expectation], list[Expectation]]:
    """Calls of the module with expected results, and the calls of its result."""
    rule, after = rule_of(runs), runs.direct.mod
    if rule is None or after is None:
        return [], []
    expected, plan = runs.given.expectations.all(rule, journal=runs.step), rule.plan
    return expected, [
        Expectation(after, e.function, e.args, None, e.kind, functools.partial(plan, e.function))
        for e in expected
    ]


def _died(
    runs: PassRuns, expected: list[Expectation], others: list[Expectation], death: ProcessDeath
) -> Violation | None:
    """The violation if the result kills the process and the module does not.

    Both must also evaluate differently.
    """
    if death.step == "lower" and excused(inventory.LATER_PASS, death.error):
        return None
    built = death.step != "run"
    concerned = expected if built else [expected[death.plan]]
    sides = others if built else [others[death.plan]]
    alike = all(_means(e, side) for e, side in zip(concerned, sides, strict=True))
    if alike and excused(inventory.REFUTED, death.error):
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
    """True if the evaluator gives the expected result for this side."""
    try:
        return expected.differs(side.evaluate()) is None
    except (Unsupported, Mismatch, Undefined):
        return False


def _agree(side: Expectation, actual: Any, tolerance: Tolerance | None) -> bool:
    """True if evaluator and VM agree on the result, or the evaluator cannot compute it."""
    try:
        side.result = side.evaluate()
    except Unsupported:
        return True
    except (Mismatch, Undefined):
        return isinstance(actual, Failure)
    return not isinstance(actual, Failure) and side.differs(actual, tolerance) is None


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    runs = run_alone(case.mod, *case.calls)
    rule = rule_of(runs)
    if violation.key[0] == NO_LONGER:
        yield 'relax.build(mod, "llvm")  # works\nrelax.build(the_pass(mod), "llvm")'
    for e in runs.given.expectations.all(rule) if rule is not None else ():
        assert rule is not None
        yield from both_sides(e, rule.text(e.function), tolerance_of(runs), runs.direct.mod)
        yield from refused(e, rule.text(e.function), runs.direct.mod)


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    before = load_json(save_json(case.mod))
    runs = run_alone(case.mod, call)
    expected, others = calls(runs)
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
    breach=Breach(FailureKind.VALUES),
    breaches={NO_LONGER: Breach(FailureKind.RAISES)},
    tier=4,
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=executed,
    brief=_brief,
    halves=_halves,
)
