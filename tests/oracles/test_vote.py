"""Votes of the VM, whose builds run passes that are tried, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.ir import Op
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.evaluated import evaluated
from relaxfuzz.oracles.violation import Violation
from relaxfuzz.oracles.vote import is_run_by_builds
from tests.specimens.table import SPECIMENS
from tests.specimens.witnesses.tensorir import wide_sum


@I.ir_module
class Difference:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(
        (3,), "float32"
    ):
        with R.dataflow():
            z = R.subtract(x, y)
            R.output(z)
        return z


@tvm.transform.module_pass(opt_level=0, name="Tidies")
def tidies(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
    return relax.transform.LegalizeOps()(relax.transform.DeadCodeElimination()(mod))


@tvm.transform.module_pass(opt_level=0, name="Removes")
def removes(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
    return relax.transform.DeadCodeElimination()(mod)


def _runs(call: PassCall) -> PassRuns:
    return PassRuns(Difference, (call,), contract_of(call), alone=True, thorough=True)


def _own(factory: str) -> PassRuns:
    call = PassCall(f"{factory}()", factory=f"{__file__}:{factory}")
    contract = PassContract(name=call.name, variants=lambda choices, mod: call)
    return PassRuns(Difference, (call,), contract, alone=True, thorough=True)


@pytest.fixture
def swapped() -> Iterator[None]:
    """The legalization of subtract takes its operands the other way around."""
    op = Op.get("relax.subtract")
    right = op.get_attr("FLegalize")

    def wrong(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        return right(builder, relax.Call(call.op, [call.args[1], call.args[0]], call.attrs))

    op.reset_attr("FLegalize")
    op.set_attr("FLegalize", wrong)
    yield
    op.reset_attr("FLegalize")
    op.set_attr("FLegalize", right)


def _found(runs: PassRuns) -> Violation:
    found = evaluated(runs)
    assert found is not None
    assert "it makes of the module what the pass does" in found.detail
    return found


def test_a_wrong_legalization_is_no_evidence_for_itself(swapped: None) -> None:
    assert _found(_runs(PassCall("LegalizeOps()"))).key == ("values", "relax.subtract")
    assert _found(_own("tidies")).key == ("values", "relax.subtract")


def test_a_right_legalization_is_left_alone() -> None:
    assert evaluated(_runs(PassCall("LegalizeOps()"))) is None
    assert evaluated(_own("tidies")) is None


def _module(func: tvm.tirx.PrimFunc) -> tvm.IRModule:
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def test_a_result_that_overflows_in_a_narrower_type_has_no_vote() -> None:
    """LLVM widens before it adds, as the narrow sum must not overflow. Code for CUDA does not."""
    call = SPECIMENS["computes_in_narrow_types"].call
    mod = advance(_module(wide_sum), Stage.FLATTENED)
    runs = PassRuns(mod, (call,), contract_of(call), alone=True, thorough=True, all_kinds=True)
    assert evaluated(runs) is not None


def test_builds_run_what_their_pipelines_run() -> None:
    for name in ("LegalizeOps()", "VMShapeLower()", "LambdaLift()"):
        assert is_run_by_builds(_runs(PassCall(name)))
    assert is_run_by_builds(_own("tidies"))
    assert not is_run_by_builds(_own("removes"))
    assert not is_run_by_builds(_runs(PassCall("EliminateCommonSubexpr()")))
