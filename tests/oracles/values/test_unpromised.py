"""Builds of modules whose values nobody promises: they must be built, and must run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.pass_runs import given
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import run_snippet

ORACLE = "executed-by-pipeline"


def case(make: Any, dtype: str, shape: tuple[int, ...] = (4,)) -> Case:
    x = relax.Var("x", relax.TensorType(shape, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(make(x)))
    return Case(builder.get(), pipeline="default")


def found(asked: Case) -> list[Violation]:
    return check(asked, oracles=[ORACLE])


def twice(x: relax.Var) -> relax.Expr:
    return relax.op.add(x, x)


@pytest.mark.parametrize(
    ("make", "dtype", "blamed"),
    [
        (relax.op.sort, "uint16", "relax.sort"),
        (relax.op.argsort, "bool", "relax.argsort"),
        (lambda x: relax.op.topk(x, 2), "uint64", "relax.topk"),
    ],
)
def test_the_vm_raises_on_another_kind_of_number(make: Any, dtype: str, blamed: str) -> None:
    asked = case(make, dtype)
    (violation,) = found(asked)
    assert (violation.pass_name, violation.key[0]) == (blamed, "a build raises in the VM")
    with pytest.raises(tvm.error.InternalError, match="Unsupported input dtype"):
        run_snippet(ORACLE, asked, violation)


@pytest.mark.parametrize(
    "make", [twice, relax.op.square, relax.op.nn.relu, lambda x: relax.op.equal(x, x)]
)
def test_no_build(make: Any) -> None:
    asked = case(make, "bool")
    (violation,) = found(asked)
    assert violation.pass_name == "relax.build"
    with pytest.raises(tvm.error.InternalError):
        run_snippet(ORACLE, asked, violation)


def test_values_that_are_not_promised_are_not_compared() -> None:
    asked = case(lambda x: relax.op.image.resize2d(x, (4, 4)), "int32", (1, 1, 2, 2))
    expected = given(asked.mod).expectations
    assert expected.all() == []
    calls = expected.unpromised()
    assert calls
    assert not any(e.promised for e in calls)
    assert calls[0].differs(calls[1].result) is None
    assert found(asked) == []


def test_promised_values_are_compared() -> None:
    asked = case(twice, "uint16")
    expected = given(asked.mod).expectations
    assert all(e.promised for e in expected.all())
    assert expected.unpromised() == []


def test_a_build_without_a_known_result_is_no_comparison() -> None:
    with answers() as log:
        assert found(case(relax.op.mean, "int8")) == []
    silent = log[ORACLE].silent
    assert silent is not None
    assert silent.startswith("it is built; no kind of arguments is defined: main: ")


@pytest.mark.parametrize("divided_by", [0.0, 1.0])
def test_an_unused_call_that_is_undefined_is_no_fault_of_its_prim_func(divided_by: float) -> None:
    """Row 3 of two: nothing uses the sample, so the values of the rest may be compared."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    prob = relax.const(np.full((2, 4), 0.25, "float32"))
    sample = relax.const(np.float32([[0.0], [0.5]]))
    rows = relax.const(np.int64([[3], [3]]))
    with builder.function("main", [x]):
        with builder.dataflow():
            builder.emit(relax.op.multinomial_from_uniform(prob, sample, rows))
            rest = relax.op.floor_mod(x, relax.const(np.float32([divided_by])))
            out = builder.emit_output(rest)
        builder.emit_func_output(out)
    case = Case(builder.get(), (PassCall("relax.backend.DispatchSampling()"),))
    assert check(case, oracles=["sanitized"]) == []
