"""The oracles on what applies TVM's arithmetic analysis to expressions, and those passes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.oracles import arithmetic_passes as arithmetic
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.passcall import PassCall, constructor, parse
from relaxfuzz.oracles.values.arithmetic_parts import smallest_wrong
from relaxfuzz.oracles.violation import Case
from tests.oracles import arithmetic_faults
from tests.oracles.arithmetic_faults import FAULTS, Module

EVERY = [name for name, oracle in ORACLES.items() if oracle.tier in (1, 3)]
PASSES = list(of_family("arith"))


@I.ir_module
class Plain:
    @T.prim_func
    def main(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4, 6), "bool")):
        for i, j in T.grid(4, 6):
            A[i, j] = (i * 6 + j) // 3 * 3 + (i * 6 + j) % 3
        for i, j in T.grid(4, 6):
            A[i, j] = i * 8 + 4 * j + i
        for i, j in T.grid(4, 6):
            A[i, j] = i * 4 + j * 4
        for i, j in T.grid(4, 6):
            C[i, j] = i * 6 + 1 < 8
        for i, j in T.grid(4, 6):
            C[i, j] = i < 4


def own(name: str) -> PassCall:
    factory = f"{arithmetic_faults.__file__}:{name}"
    return PassCall(f"{name}()", factory=factory, like="arith.Simplify")


@pytest.mark.parametrize(("name", "wrong"), FAULTS.items())
def test_a_faulty_analysis_is_caught(name: str, wrong: str) -> None:
    found = check(Case(Module, (own(name),)), oracles=EVERY)
    assert "evaluated" in {violation.oracle for violation in found}
    (e, *_) = Expectations(Module).of("main")
    part = smallest_wrong(e, own(name))
    assert part is not None
    assert part.kind == wrong
    assert " becomes " in part.text


def test_a_right_analysis_is_not_blamed() -> None:
    found = check(Case(Module, (own("keeps_all"),)), oracles=EVERY)
    assert [v for v in found if v.oracle != "idempotent"] == []
    (e, *_) = Expectations(Module).of("main")
    assert smallest_wrong(e, own("keeps_all")) is None


@pytest.mark.parametrize("name", PASSES)
def test_plain_indices_are_analyzed_right(name: str) -> None:
    assert check(Case(Plain, (parse(name),)), oracles=EVERY) == []


CHANGING = [name for name in PASSES if name != "arith.InverseAffineIterMap"]


@pytest.mark.parametrize("name", CHANGING)
def test_the_analysis_is_written_into_the_module(name: str) -> None:
    """A pass that leaves everything as it is would never be blamed."""
    after = parse(name).run(Plain)
    assert not tvm_ffi.structural_equal(Plain, after)


def test_a_bijection_is_inverted() -> None:
    @I.ir_module
    class Bijection:
        @T.prim_func
        def main(A: T.Buffer((4, 6), "int32")):
            for i, j in T.grid(4, 6):
                A[i, j] = i * 6 + j

    after = parse("arith.InverseAffineIterMap").run(Bijection)
    assert "//" in after.script()


def test_a_loop_keeps_its_step_and_annotations() -> None:
    @I.ir_module
    class Stepping:
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            for i in T.serial(0, 8, step=2, annotations={"note": 1}):
                A[i] = i

    assert tvm_ffi.structural_equal(arithmetic.Simplify()(Stepping), Stepping)


def test_findings_say_what_became_of_an_expression() -> None:
    (found,) = check(Case(Module, (own("loses_an_addend"),)), oracles=["evaluated"])
    assert "wrong by itself: (i * 6 + j + 3) // 4 becomes (i * 6 + j) // 4" in found.detail


def test_names() -> None:
    assert parse("arith.Simplify").name == "arith.Simplify"
    assert parse("arith.CanProve(strength=1)").name == "arith.CanProve"
    assert {name.removeprefix("arith.") for name in PASSES} == {
        name
        for name, thing in vars(arithmetic).items()
        if name[0].isupper() and inspect.isfunction(thing)
    }


@pytest.mark.parametrize("name", PASSES)
def test_the_source_of_a_pass_stands_alone(name: str) -> None:
    statements, expression = parse(name).source()
    names: dict[str, Any] = {}
    for statement in statements:
        exec(statement, names)
    alone = eval(expression, names)(Module)
    assert tvm_ffi.structural_equal(alone, constructor(name)()(Module))


def test_what_an_analysis_raises_comes_through() -> None:
    def fails(node: Any) -> Any:
        raise RuntimeError(type(node).__name__)

    condition = tirx.Var("i", "int32") < 4
    with pytest.raises(RuntimeError, match="LT"):
        arithmetic.in_each(("LT",), fails, condition)
