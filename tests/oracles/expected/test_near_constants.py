"""Arguments next to constants: faults that show on few numbers only."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm.script import tirx as T

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.expected import near_constants
from relaxfuzz.oracles.expected.near_constants import telling
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("near_constants_faults.py")

faults = load_faults(FILE)


def case(name: str, rule: str) -> Case:
    mod = tvm.IRModule({name: faults.Module[name]})
    factory = f"{rule}_{name}"
    return Case(mod, (PassCall(f"{factory}()", factory=f"{FILE}:{factory}"),))


def found(name: str, rule: str) -> list[Violation]:
    return check(case(name, rule), oracles=["evaluated"])


@pytest.mark.parametrize("name", faults.FAULTS)
def test_a_rule_that_is_wrong_for_few_numbers_is_reported(name: str) -> None:
    (violation,) = found(name, "wrong")
    assert violation.title.startswith("the result computes other values")


@pytest.mark.parametrize("name", faults.FAULTS)
def test_the_same_rule_without_the_fault_is_not(name: str) -> None:
    assert found(name, "right") == []


@pytest.mark.parametrize("name", faults.FAULTS)
def test_usual_arguments_do_not_show_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_constants, "SCALARS", 0)
    monkeypatch.setattr(near_constants, "DIMENSIONS", 0)
    assert found(name, "wrong") == []


def test_a_check_with_a_number_among_the_arguments_needs_tvm_alone() -> None:
    with pytest.raises(AssertionError, match="Mismatched elements"):
        run_snippet("evaluated", case("limit", "wrong"))


@T.prim_func
def tripled(n: T.int32, out: T.Buffer((1,), "int32")) -> None:
    out[0] = n * 3


@T.prim_func
def tripled_in_range(n: T.int32, out: T.Buffer((1,), "int32")) -> None:
    out[0] = T.if_then_else(n > 715827882, 0, n * 3)


def test_a_number_for_which_the_module_overflows_tells_nothing() -> None:
    assert telling(tripled, tripled_in_range) == []
    assert telling(tripled_in_range, tripled) != []


def test_the_same_functions_get_the_same_arguments() -> None:
    before = faults.Module["pair"]
    after = faults.wrong_pair()(faults.Module)["pair"]
    one, other = telling(before, after), telling(before, after)
    assert [args[:2] for args in one] == [args[:2] for args in other] != []


@T.prim_func
def copied(n: T.int32, out: T.Buffer((1,), "int32")) -> None:
    out[0] = n


@T.prim_func
def copied_often(n: T.int32, out: T.Buffer((1,), "int32")) -> None:
    for _ in range(100000):
        out[0] = n


@T.prim_func
def zero(n: T.int32, out: T.Buffer((1,), "int32")) -> None:
    out[0] = 0


def test_a_function_with_many_iterations_is_left_out() -> None:
    assert telling(copied, zero) != []
    assert telling(copied_often, zero) == []


@T.prim_func
def ones(out: T.Buffer((1,), "int32")) -> None:
    out[0] = 1


@T.prim_func
def twos(out: T.Buffer((1,), "int32")) -> None:
    out[0] = 2


def test_a_function_without_numbers_and_symbolic_sizes_is_left_out() -> None:
    assert telling(ones, twos) == []
