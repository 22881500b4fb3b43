"""The canonical form of modules, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.composition import contract_of
from relaxfuzz.oracles.errors import Unloadable
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.oracle import Half, Oracle
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.canonical import canonical, equivalent
from relaxfuzz.oracles.text.halves import alike
from relaxfuzz.oracles.violation import Violation


def module(private: str, size: int) -> tvm.IRModule:
    """A public function that calls a private one, which gives a constant of some columns."""
    constant = relax.const(np.zeros((2, size), "float32"))
    inner = relax.Function([], relax.SeqExpr([], constant), constant.ty, True)
    builder = relax.BlockBuilder()
    callee = builder.add_func(inner, private)
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.Call(callee, [])))
    return builder.get()


def test_names_of_private_functions_make_no_difference() -> None:
    assert equivalent(module("f", 1), module("g", 1))
    assert not equivalent(module("f", 1), module("g", 2))


def test_a_module_that_is_not_loaded_has_no_canonical_form() -> None:
    """TVM does not load a constant whose last dimension alone is empty."""
    with pytest.raises(Unloadable):
        canonical(module("f", 0))


@pytest.mark.parametrize(("size", "expected"), [(0, ()), (1, (Violation.titled("unlike"),))])
def test_an_oracle_skips_what_is_not_canonical(size: int, expected: tuple[Violation, ...]) -> None:
    mod, other = module("f", size), module("g", 2 * size)
    oracle = Oracle(
        name="compares", tier=1, grade=Grade.C, promise="", source="", snippet="",
        check=lambda runs: None if equivalent(runs.mod, other) else Violation.titled("unlike"),
    )  # fmt: skip
    call = PassCall("Normalize()")
    assert oracle.violations(PassRuns(mod, (call,), contract_of(call))) == expected


def test_halves_stay_as_they_are() -> None:
    halves = Half("one", module("f", 0)), Half("other", module("g", 0))
    assert alike(*halves) == halves
