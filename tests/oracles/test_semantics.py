"""Executed semantics: wrong passes are caught, right ones are left alone, votes are counted."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.oracle import Case
from relaxfuzz.oracles.passcall import PassCall

from .snippets import run_snippet

FILE = Path(__file__).with_name("value_faults.py")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("relaxfuzz_value_faults", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where TVMScript looks for the source
    spec.loader.exec_module(module)
    return module


faults = _load()


def case(factory: str) -> Case:
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return Case(faults.module(), (call,))


@pytest.mark.parametrize(
    ("factory", "op"), [(factory.__name__, op) for factory, op in faults.FAULTS.items()]
)
def test_the_fault_is_caught_and_its_operator_named(factory: str, op: str | None) -> None:
    (violation,) = check(case(factory), oracles=["executed"])
    assert (violation.oracle, violation.pass_name) == ("executed", factory)
    assert violation.key[1:] == ((op,) if op else ())
    with pytest.raises(Exception) as info:
        run_snippet("executed", case(factory))
    assert not isinstance(info.value, NameError | SyntaxError | ImportError)


@pytest.mark.parametrize("factory", [factory.__name__ for factory in faults.CORRECT])
def test_a_correct_pass_is_left_alone(factory: str) -> None:
    assert check(case(factory), oracles=["executed"]) == []
    run_snippet("executed", case(factory))
