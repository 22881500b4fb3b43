"""Which oracles a check asks."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import UNCHANGED, check
from relaxfuzz.oracles.contract import PassContract, Reference
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from .snippets import load_faults

FAULTS = Path(__file__).with_name("faults.py")

MODULES = 24


def asked(call: str, size: int, oracle: str) -> bool:
    """The sampled oracle is asked of this pass on a module with `size` in its types."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((size,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    seen: list[PassRuns] = []
    case = Case(builder.get(), (PassCall(call),))
    assert check(case, besides=(oracle,), watch=seen.append) == []
    return oracle in seen[0].asked


@pytest.mark.parametrize(
    ("call", "oracle", "least", "most"),
    [
        ("Normalize()", "json", 1, MODULES // UNCHANGED * 3),
        ("LegalizeOps()", "json", MODULES, MODULES),
        ("Normalize()", "evaluated", MODULES, MODULES),
    ],
)
def test_twins_are_made_mostly_where_the_pass_changes_something(
    call: str, oracle: str, least: int, most: int
) -> None:
    assert least <= sum(asked(call, size, oracle) for size in range(1, MODULES + 1)) <= most


def test_an_oracle_that_is_asked_for_by_name_is_always_asked() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    seen: list[PassRuns] = []
    check(Case(builder.get(), (PassCall("Normalize()"),)), oracles=("sharing",), watch=seen.append)
    assert seen[0].asked == ["sharing"]


def never(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    return "nothing is ever right"


def does_nothing(call: PassCall) -> tvm.transform.Pass:
    return relax.transform.Normalize()


MISSED = {
    "postcondition": PassContract(name="p", variants=lambda choices, mod: None, post=never),
    "reference": PassContract(
        name="p",
        variants=lambda choices, mod: None,
        reference=Reference(make=does_nothing, unique=True),
    ),
}
"""Contracts that LegalizeOps does not keep, by the oracle that reports it."""

faults = load_faults(FAULTS)


@pytest.mark.parametrize("oracle", MISSED)
def test_values_are_compared_though_a_form_is_missed_and_twins_are_not(oracle: str) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    seen: list[PassRuns] = []
    (violation,) = check(
        Case(builder.get(), (PassCall("LegalizeOps()"),)),
        besides=("sharing", "evaluated"),
        contract=MISSED[oracle],
        watch=seen.append,
    )
    assert violation.oracle == oracle
    assert "evaluated" in seen[0].asked
    assert "sharing" not in seen[0].asked
    # What the first run has left undone, the second one does: the post-condition may not see it.
    assert ("idempotent" in seen[0].asked) == (oracle == "postcondition")


@pytest.mark.parametrize(
    ("oracle", "compares"),
    [
        ("crash", False),
        ("well-formed", False),
        ("mutation", False),
        ("deterministic", False),
        ("functions", False),
        ("signature", True),  # a pass of the user's: all that is wrong is one row
        ("attributes", True),
        ("idempotent", True),
    ],
)
def test_values_are_compared_where_there_is_a_result_to_call(oracle: str, compares: bool) -> None:
    factory = faults.FAULTS[oracle][0].__name__
    call = PassCall(f"{factory}()", factory=f"{FAULTS}:{factory}")
    seen: list[PassRuns] = []
    found = check(Case(faults.module(), (call,)), besides=("evaluated",), watch=seen.append)
    assert oracle in [violation.oracle for violation in found]
    assert ("evaluated" in seen[0].asked) == compares
