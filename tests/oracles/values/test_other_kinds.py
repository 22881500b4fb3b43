"""Values of modules in which an operator promises nothing for the kind of its operands' numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.relax.op import abs as absolute
from tvm.relax.op import astype, less, logical_not, tanh

from relaxfuzz.oracles import vote
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.execute import Failure
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.values.evaluated import evaluated
from relaxfuzz.oracles.violation import Violation

Make = Callable[[relax.Expr], relax.Expr]


def module(make: Make, dtype: str = "float32") -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((5,), dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(builder.normalize(make(x)))
        builder.emit_func_output(out)
    return builder.get()


def found(before: Make, after: Make, dtype: str = "float32") -> tuple[Violation | None, set[str]]:
    """The violation, and the rules that kept something back."""
    call = PassCall("Mine()", factory="mine:Mine")
    contract = PassContract(name="Mine", variants=lambda choices, mod: call)
    seen = Outcome(module(after, dtype))
    runs = PassRuns(module(before, dtype), (call,), contract, thorough=True, seen=seen)
    with answers() as log:
        violation = evaluated(runs)
    silences = (each for answer in log.values() for each in answer.silences)
    return violation, {each.rule for each in silences if each.report}


def small(x: relax.Expr) -> relax.Expr:
    return less(x, relax.const(1, "float32"))


def large(x: relax.Expr) -> relax.Expr:
    return less(relax.const(1, "float32"), x)


def of(outer: Make, inner: Make) -> Make:
    return lambda x: outer(inner(x))


@pytest.mark.parametrize(
    ("before", "after", "reported", "rules"),
    [
        pytest.param(of(absolute, small), of(absolute, large), True, set(), id="other operands"),
        pytest.param(of(absolute, small), small, False, set(), id="removed, the same"),
        pytest.param(of(absolute, small), of(logical_not, small), False, {"open"}, id="replaced"),
        pytest.param(of(logical_not, small), of(absolute, small), True, set(), id="brought in"),
        pytest.param(
            of(logical_not, small),
            of(absolute, of(logical_not, small)),
            *(False, set()),
            id="brought in, the same",
        ),
    ],
)
def test_an_operator_that_stays_gives_the_same_for_the_same_operands(
    before: Make, after: Make, reported: bool, rules: set[str]
) -> None:
    """Nothing is promised of the absolute value of a bool."""
    violation, silenced = found(before, after)
    assert (violation is not None, silenced) == (reported, rules)
    if violation is not None and before(relax.const(0)).op.name == "relax.abs":
        assert "compiled code may give anything for the operands of relax.abs" in violation.detail


def shortened(x: relax.Expr) -> relax.Expr:
    return astype(astype(tanh(x), "float32"), "float64")


def by_way_of_three(x: relax.Expr) -> relax.Expr:
    three = relax.const(3, "float64")
    return relax.op.divide(relax.op.multiply(tanh(x), three), three)


@pytest.mark.parametrize(("after", "reported"), [(shortened, True), (by_way_of_three, False)])
def test_without_a_vote_lost_digits_are_reported_and_rounding_is_not(
    monkeypatch: pytest.MonkeyPatch, after: Make, reported: bool
) -> None:
    raised: Any = Failure("run", "InternalError", "no", Violation.titled("no"))
    monkeypatch.setattr(vote, "execute", lambda mod, plans, **_: [raised])
    violation, _ = found(tanh, after, "float64")
    assert (violation is not None) is reported
    if violation is not None:
        assert "The VM cannot confirm it: it raises for the result" in violation.detail
