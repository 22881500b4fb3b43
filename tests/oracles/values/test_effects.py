"""Effects: each kind of fault is caught, and passes that keep them are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz import evaluate
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.evaluate.effects import PackedCall
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults

FILE = Path(__file__).with_name("effect_faults.py")

faults = load_faults(FILE)


def case(factory: Any, mod: tvm.IRModule | None = None) -> Case:
    name = factory.__name__
    return Case(mod or faults.module(), (PassCall(f"{name}()", factory=f"{FILE}:{name}"),))


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_a_fault_is_caught(factory: Any) -> None:
    (violation,) = check(case(factory), oracles=["effects"])
    assert (violation.oracle, violation.pass_name) == ("effects", factory.__name__)
    assert violation.key == (faults.FAULTS[factory],)


@I.ir_module
class Printed:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.exp(x)
        _ = R.print(a, format="a is {}")
        return x


def test_the_operator_is_named_whose_wrong_result_an_effect_is_given() -> None:
    (violation,) = check(case(faults.computes_something_else, Printed), oracles=["effects"])
    assert violation.key[1:] == ("relax.exp",)


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_no_oracle_of_values_sees_it(factory: Any) -> None:
    assert check(case(factory), oracles=["crash", "well-formed", "evaluated"]) == []


@pytest.mark.parametrize("factory", faults.CORRECT, ids=lambda factory: factory.__name__)
def test_what_keeps_effects_is_left_alone(factory: Any) -> None:
    assert check(case(factory), oracles=["effects"]) == []


def test_the_evaluator_notes_effects_in_order_with_what_they_are_given() -> None:
    effects: list[PackedCall] = []
    evaluate(faults.module(), "main", [np.array([1, 2], "float32")], effects=effects)
    calls = [(each.function, *each.args[:1], each.asserted) for each in effects]
    assert [call[0] for call in calls] == [
        faults.PRINT,
        faults.PRINT,
        faults.ASSERT,
        *["vm.builtin.copy"] * 3,
    ]
    assert [call[-1] for call in calls] == [False] * 5 + [True]
    assert effects[1].args[0] == "a is {}"
    np.testing.assert_array_equal(effects[1].args[1], [2, 4])


@I.ir_module
class Closure:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function(pure=False)
        def shown(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            _ = R.print(y, format="y is {}")
            return R.add(x, y)

        return shown(x)


def test_a_lifted_closure_that_prints_is_not_pure() -> None:
    """The VM prints all the same, which says nothing of later passes."""
    (violation,) = check(Case(Closure, (PassCall("LambdaLift()"),)), oracles=["effects"])
    assert violation.key == (f"a call that has an effect is taken for pure: {faults.PRINT}",)
