"""Conformance of the oracle "history": what a pass has seen before makes no difference."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tvm_ffi
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.metamorphic import twins
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults

FILE = Path(__file__).with_name("history_faults.py")


faults = load_faults(FILE)
CORRECT = [factory.__name__ for factory in faults.CORRECT]


def case(factory: str, folder: Path) -> Case:
    """A pass that has met no module yet: what it knows is kept in its own copy of the file."""
    file = folder / "faults.py"
    shutil.copy(FILE, file)
    return Case(faults.module(), (PassCall(f"{factory}()", factory=f"{file}:{factory}"),))


@pytest.mark.parametrize(("title", "factory"), faults.FAULTS.items())
def test_the_fault_is_caught(title: str, factory: object, tmp_path: Path) -> None:
    (found,) = check(case(factory.__name__, tmp_path), oracles=["history"])
    assert found.oracle == "history"
    assert title in found.title


def test_what_takes_many_modules_is_caught_where_it_is_asked_by_name(tmp_path: Path) -> None:
    def fresh(name: str) -> Case:
        (tmp_path / name).mkdir()
        return case("marks_until_it_saw_many_subtractions", tmp_path / name)

    assert check(fresh("sampled"), besides=["history"]) == []
    (found,) = check(fresh("asked"), oracles=["history"])
    assert "another result" in found.title


@pytest.mark.parametrize("factory", CORRECT)
def test_a_correct_pass_is_left_alone(factory: str, tmp_path: Path) -> None:
    assert check(case(factory, tmp_path), oracles=["history"]) == []


def test_the_other_module_is_well_formed_and_bears_the_same_names() -> None:
    mod = faults.module()
    other = twins.other_module(mod)
    assert other is not None
    assert flaw(other) is None
    assert not tvm_ffi.structural_equal(mod, other)
    before, after = ({g.name_hint for g in m.get_global_vars()} for m in (mod, other))
    assert before == after


def test_there_is_none_where_no_operator_has_a_partner() -> None:
    assert twins.other_module(relax.BlockBuilder().get()) is None
