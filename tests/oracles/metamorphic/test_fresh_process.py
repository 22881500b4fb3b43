"""A fresh process: passes that give something else there are caught, others are left alone."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import tvm

from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.metamorphic import fresh_process
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("process_faults.py")

faults = load_faults(FILE)


def case(factory: Any) -> Case:
    name = factory.__name__
    return Case(faults.module(), (PassCall(f"{name}()", factory=f"{FILE}:{name}"),))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer would look like the right one."""
    monkeypatch.setattr(fresh_process, "SECONDS", 600.0)


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_a_fault_is_caught(factory: Any) -> None:
    (violation,) = check(case(factory), oracles=["fresh-process"])
    assert (violation.oracle, violation.pass_name) == ("fresh-process", factory.__name__)
    assert violation.key == (faults.FAULTS[factory],)
    with pytest.raises(ValueError, match="StructuralEqual"):
        run_snippet("fresh-process", case(factory))
    assert check(case(factory), oracles=["deterministic", "repeatable", "history"]) == []


@pytest.mark.parametrize("factory", faults.CORRECT, ids=lambda factory: factory.__name__)
def test_a_correct_pass_is_left_alone(factory: Any) -> None:
    assert check(case(factory), oracles=["fresh-process"]) == []


def test_a_reproducer_has_the_snippet_in_a_block() -> None:
    """Its lines are indented there, and so is the program in it."""
    listed = case(faults.lists_a_set)
    text = textwrap.indent(ORACLES["fresh-process"].snippet(listed), "    ")
    names = {"mod": listed.mod, "apply": listed.calls[0].run, "tvm": tvm}
    with pytest.raises(ValueError, match="StructuralEqual"):
        exec(f"if True:\n{text}", names)


def test_options_of_the_context_reach_the_process() -> None:
    call = PassCall("FoldConstant()", {"opt_level": 3, "relax.FuseOps.max_depth": 2})
    assert check(Case(faults.module(), (call,)), oracles=["fresh-process"]) == []
