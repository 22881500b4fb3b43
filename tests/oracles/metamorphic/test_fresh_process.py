"""A fresh process: passes that give something else there are caught, others are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.metamorphic import fresh_process
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults

FILE = Path(__file__).with_name("process_faults.py")

faults = load_faults(FILE)


def case(factory: Any) -> Case:
    name = factory.__name__
    return Case(faults.module(), (PassCall(f"{name}()", factory=f"{FILE}:{name}"),))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer would look like the right one; each answer takes a second."""
    monkeypatch.setattr(fresh_process, "SECONDS", 600.0)
    monkeypatch.setattr(fresh_process, "SEEDS", ("1", "2"))


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_a_fault_is_caught(factory: Any) -> None:
    (violation,) = check(case(factory), oracles=["fresh-process"])
    assert (violation.oracle, violation.pass_name) == ("fresh-process", factory.__name__)
    assert violation.key == (faults.FAULTS[factory],)
    assert check(case(factory), oracles=["deterministic", "repeatable", "history"]) == []


@pytest.mark.parametrize("factory", faults.CORRECT, ids=lambda factory: factory.__name__)
def test_a_correct_pass_is_left_alone(factory: Any) -> None:
    assert check(case(factory), oracles=["fresh-process"]) == []


def test_options_of_the_context_reach_the_process() -> None:
    call = PassCall("LegalizeOps()", {"opt_level": 0, "relax.FuseOps.max_depth": 2})
    text = tvm.ir.save_json(faults.module())
    result = fresh_process.applied(text, call, "1")
    assert result is not None
    expected = relax.transform.LegalizeOps()(faults.module())
    tvm.ir.assert_structural_equal(result, expected, map_free_vars=True)
    assert "PassContext(opt_level=0, config={'relax.FuseOps.max_depth': 2})" in (
        fresh_process.program(call)
    )
