"""Builds: a result that builds no longer is caught, where the module builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values import builds
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("build_faults.py")

faults = load_faults(FILE)


def case(factory: Any, mod: tvm.IRModule | None = None) -> Case:
    name = factory.__name__
    return Case(mod or faults.module(), (PassCall(f"{name}()", factory=f"{FILE}:{name}"),))


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_a_fault_is_caught(factory: Any) -> None:
    (violation,) = check(case(factory), oracles=["builds"])
    assert (violation.oracle, violation.pass_name) == ("builds", factory.__name__)
    assert violation.key[0] == "the result builds no longer"
    with pytest.raises(Exception, match=r"CodeGenVM|not"):
        run_snippet("builds", case(factory))


@pytest.mark.parametrize("factory", faults.CORRECT, ids=lambda factory: factory.__name__)
def test_a_result_that_builds_is_left_alone(factory: Any) -> None:
    assert check(case(factory), oracles=["builds"]) == []
    run_snippet("builds", case(factory))


def test_a_module_that_does_not_build_promises_nothing() -> None:
    @I.ir_module
    class Vague:
        @R.function
        def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
            with R.dataflow():
                b = R.permute_dims(x)
                R.output(b)
            return b

    assert check(case(faults.forgets_a_shape, Vague), oracles=["builds"]) == []


@I.ir_module
class Summed:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.cumsum(x, axis=0)


@I.ir_module
class SummedBeside:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.cumsum(x, axis=1)


def test_the_pass_that_gives_an_operator_an_axis_that_is_not_there_is_to_blame() -> None:
    """Not LegalizeOps, which fails on it."""
    call = PassCall("ToNonDataflow()")
    runs = PassRuns(Summed, (call,), catalogue[call.name], seen=Outcome(SummedBeside))
    found = builds.check(runs)
    assert found is not None
    assert found.key[0] == "the result builds no longer"
    assert check(Case(Summed, (call,)), oracles=["builds"]) == []
