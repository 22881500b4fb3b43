"""Which oracles a check asks."""

from __future__ import annotations

import pytest
from tvm import relax

from relaxfuzz.oracles.check import UNCHANGED, check
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

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
