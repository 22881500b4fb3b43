"""The oracles on modules of PrimFuncs alone."""

from __future__ import annotations

import pytest
import tvm

from relaxfuzz import evaluate
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case
from tests.oracles import tensorir_faults
from tests.oracles.tensorir_faults import FAULTS, Module

EVERY = [name for name, oracle in ORACLES.items() if oracle.tier in (1, 3)]


def call(name: str) -> PassCall:
    return PassCall(f"{name}()", factory=f"{tensorir_faults.__file__}:{name}")


@pytest.mark.parametrize(("name", "oracle"), FAULTS.items())
def test_a_faulty_pass_is_caught(name: str, oracle: str) -> None:
    found = check(Case(Module, (call(name),)), oracles=EVERY)
    assert oracle in {violation.oracle for violation in found}


@pytest.mark.parametrize("name", ["keeps_all"])
def test_a_right_pass_is_not_blamed(name: str) -> None:
    found = check(Case(Module, (call(name),)), oracles=[*EVERY, "executed"])
    assert [v for v in found if v.oracle != "idempotent"] == []


def test_compiled_code_shows_wrong_values() -> None:
    (found,) = check(Case(Module, (call("drops_a_store"),)), oracles=["executed"])
    assert found.key == ("values", "a PrimFunc")


def test_a_prim_func_gives_all_its_buffers() -> None:
    import numpy as np

    given = np.arange(6, dtype="int32")
    kept, made = evaluate(Module, "other", [given, np.zeros(6, "int32")])
    np.testing.assert_array_equal(kept, given)
    np.testing.assert_array_equal(made, [1, 3, 5, 7, 2, 0])
    tvm.ir.assert_structural_equal(Module, Module)
