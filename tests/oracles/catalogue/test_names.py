"""Names in records exist, and every contract states where its pass does not apply."""

from __future__ import annotations

import dataclasses
import random

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.ops import table
from relaxfuzz.oracles.catalogue import COMMON_PARTS, by_name, catalogue, parts
from relaxfuzz.oracles.check import UnknownOracle, validated
from relaxfuzz.oracles.contract import Exemption, PassContract
from relaxfuzz.oracles.lowering_gaps import LOWERED_BY
from relaxfuzz.oracles.passcall import public_passes


@I.ir_module
class OneOp:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y  # noqa: RET504  # a binding of TVMScript


@pytest.mark.parametrize("mod", [tvm.IRModule(), OneOp], ids=["empty", "one op"])
def test_a_pass_applies_or_the_contract_states_why_not(mod: tvm.IRModule) -> None:
    for contract in catalogue.values():
        if contract.name in public_passes():  # not all TVMs have all
            applies_or_states_why_not(contract, mod)


def applies_or_states_why_not(contract: PassContract, mod: tvm.IRModule) -> None:
    draws = random.Random(0)
    data = [b"", *(draws.randbytes(64) for _ in range(6))]
    calls = [contract.choose(Choices(each), mod) for each in data]
    reason = contract.requires(mod)
    if None in calls:
        assert set(calls) == {None}
        assert contract.no_variants != PassContract.no_variants
    elif reason is not None:
        assert reason.strip()
    else:
        for call in calls:
            assert call is not None
            call.build()


def test_an_exemption_from_no_oracle_is_refused() -> None:
    wrong = dataclasses.replace(catalogue["FuseOps"], exemptions=(Exemption("idempotnt", "", ""),))
    with pytest.raises(
        UnknownOracle, match=r"'FuseOps': exemption from 'idempotnt'.*Did you mean 'idempotent'"
    ):
        validated(wrong)


def test_a_part_without_a_contract_is_refused() -> None:
    wrong = dataclasses.replace(catalogue["FuseOps"], inside=("DeadCodeElimintion",))
    others = [contract for name, contract in catalogue.items() if name != "FuseOps"]
    with pytest.raises(
        ValueError, match=r"'FuseOps': no contract of 'DeadCodeElimintion'.*'DeadCodeElimination'"
    ):
        by_name([wrong, *others])


def test_parts_have_parts() -> None:
    assert parts("FuseTIR") == {
        *("ExpandTupleArguments", "RemoveUnusedParameters"),
        *("CanonicalizeBindings", "DeadCodeElimination"),
    }
    assert not parts("a pass of somebody else")
    assert COMMON_PARTS[-3:] == (
        "EliminateCommonSubexpr",
        "CanonicalizeBindings",
        "DeadCodeElimination",
    )
    assert set(COMMON_PARTS[:-3]) == {
        *("AllocateWorkspace", "MergeCompositeFunctions", "FuseOpsByPattern")
    }


def test_operators_are_lowered_by_passes_that_exist() -> None:
    named = {op.lowered_by for op in table.values() if op.lowered_by is not None} | {*LOWERED_BY}
    assert named <= set(public_passes())
    for ops in LOWERED_BY.values():
        for op in ops:
            tvm.ir.Op.get(f"relax.{op}")
