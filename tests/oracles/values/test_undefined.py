"""What was defined before a pass and is not after it, and what only wraps around."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.evaluated import differences
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("undefined_faults.py")

faults = load_faults(FILE)

ENDS = np.array([2**63 - 1, -(2**63), 5, -7])


def case(factory: str) -> Case:
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return Case(faults.module(), (call,))


@pytest.mark.parametrize(("factory", "kind"), [(f.__name__, k) for f, k in faults.FAULTS.items()])
def test_what_a_pass_makes_undefined_is_caught(factory: str, kind: str) -> None:
    (violation,) = check(case(factory), oracles=["evaluated"])
    assert violation.key == (f"the result does what has no meaning: {kind}",)
    assert "in the VM: " in violation.detail
    with pytest.raises(Undefined, match=kind):
        run_snippet("evaluated", case(factory), violation, ours=True)


def test_an_overflow_that_changes_values_is_caught() -> None:
    (violation,) = check(case("averages_by_the_sum"), oracles=["evaluated"])
    assert violation.key == ("values", "relax.add")
    with pytest.raises(AssertionError):
        run_snippet("evaluated", case("averages_by_the_sum"), violation)


def test_integers_that_are_computed_in_floats_are_caught() -> None:
    (violation,) = check(case("multiplies_in_float32"), oracles=["evaluated"])
    assert violation.key == ("values", "relax.multiply")  # and not that 2^31 is no int32


@pytest.mark.parametrize("factory", [factory.__name__ for factory in faults.CORRECT])
def test_what_stays_defined_is_left_alone(factory: str) -> None:
    assert check(case(factory), oracles=["evaluated"]) == []


def test_an_overflow_of_the_module_itself_is_undefined() -> None:
    zeros = np.zeros(4, "int64")
    np.testing.assert_array_equal(evaluate(faults.module(), "sums", [ENDS, zeros, zeros]), ENDS)
    with pytest.raises(Undefined, match=r"overflow of a signed integer: relax\.add"):
        evaluate(faults.module(), "sums", [ENDS, ENDS, zeros])


def test_what_a_pass_brings_wraps_around() -> None:
    after = faults.reassociates()(faults.module())
    args = [ENDS, np.zeros(4, "int64"), np.array([-1, 1, 0, 0])]
    with pytest.raises(Undefined):
        Evaluator(after).run("sums", args)
    expected = ENDS - args[2]
    np.testing.assert_array_equal(Evaluator(after, wraps=True).run("sums", args), expected)


def test_recursion_that_may_end_is_only_not_known() -> None:
    """Each call is for another argument."""
    mod = faults.calls_itself_on_more()(faults.module())
    with pytest.raises(Unsupported, match="calls inside one another"):
        evaluate(mod, "calls", [np.ones(4, "float32")])


@I.ir_module
class Clipped:
    @T.prim_func
    def clipped(A: T.Buffer((1,), "int32")):
        A[0] = -(2**31)
        A[0] = 0 - T.max(A[0], 0)


def test_the_simplifier_computes_with_whole_numbers() -> None:
    """It gives `min(0 - A[0], 0)`, and there is no int32 that is `0 - -2147483648`."""
    call = PassCall("tirx.transform.StmtSimplify()")
    args = [np.ones(1, "int32")]
    assert evaluate(Clipped, "clipped", args) == ([0],)
    assert evaluate(call.build()(Clipped), "clipped", args) == ([-(2**31)],)
    assert check(Case(Clipped, (call,)), oracles=["evaluated"]) == []


def test_a_narrower_type_must_be_wide_enough() -> None:
    """Compiled code multiplies in 64 bits all the same, and nothing is reported."""
    call = PassCall(
        "narrows_products()", factory=f"{FILE}:narrows_products", like="tirx.NarrowDataType"
    )
    runs = PassRuns(faults.Products, (call,), contract_of(call), thorough=True)
    assert next(differences(runs)).kind == "values"


def _of_quotients(factory: str, function: str) -> list[str]:
    """The violations on the module with this function alone."""
    mod = tvm.IRModule({function: faults.Quotients[function]})
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return [each.key[0] for each in check(Case(mod, (call,)), oracles=["evaluated"])]


@pytest.mark.parametrize("function", ["of_elements", "of_a_parameter"])
def test_an_overflow_of_the_result_alone_is_no_excuse(function: str) -> None:
    """In whole numbers it is right, and no simplifier has made it."""
    assert _of_quotients("shifts_too_far", function) == ["values"]


@pytest.mark.parametrize("function", ["of_elements", "of_a_parameter"])
@pytest.mark.parametrize("factory", ["subtracts_and_adds", "multiplies_both"])
def test_an_overflow_that_does_no_harm_is_left_alone(factory: str, function: str) -> None:
    assert _of_quotients(factory, function) == []


@I.ir_module
class Distances:
    @T.prim_func
    def distances(
        A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((8,), "int32")
    ):
        for i in range(4):
            C[i] = A[i] - T.max(A[i], B[i])
            C[i + 4] = T.floordiv(A[i], 7)


def test_the_simplifier_is_no_excuse_for_another_overflow() -> None:
    """It makes `min(0, A[i] - B[i])` of the difference; the pass changes the quotient."""
    call = PassCall("shifts_too_far()", factory=f"{FILE}:shifts_too_far")
    (violation,) = check(Case(Distances, (call,)), oracles=["evaluated"])
    assert violation.key[0] == "values"
    simplifies = PassCall("tirx.transform.StmtSimplify()")
    assert check(Case(Distances, (simplifies,)), oracles=["evaluated"]) == []
