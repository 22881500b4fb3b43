"""Stand-ins for classes of IR nodes that the installed TVM lacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.drift import Drift


def test_this_tvm_lacks_nothing() -> None:
    assert ir.MISSING == {}


@pytest.fixture(scope="module")
def nothing() -> Iterator[type]:
    yield ir.node("Nothing")
    del ir.MISSING["Nothing"]


def test_a_class_that_is_missing_has_no_instances(nothing: type) -> None:
    """It may be asked for, and walked for, like any other."""
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    found: list[object] = []
    tvm_ffi.structural_walk(x, ((nothing, relax.Var), found.append))
    assert found == [x]
    assert not isinstance(x, nothing)


def test_a_class_that_is_missing_is_named(nothing: type) -> None:
    for ask in (lambda: nothing(1), lambda: nothing.FIELD):  # type: ignore[attr-defined]
        with pytest.raises(Drift, match=r"^this TVM has no IR node Nothing$"):
            ask()
    assert ir.MISSING == {"Nothing": "this TVM has no IR node Nothing"}


def test_bitwise_operations_are_calls_or_nodes() -> None:
    n = tirx.Var("n", "int32")
    name, made = "shift_left", tirx.shift_left(n, n)
    assert isinstance(made, ir.BITWISE[name]) or made.op.name.endswith(name)


def test_what_is_defined_inside_of_its_own_scope_is_complained_of() -> None:
    alloc = tirx.AllocBuffer(tirx.decl_buffer([1], "float32", "F"))
    once = tirx.PrimFunc([], tirx.SeqStmt([alloc, tirx.Evaluate(0)]))
    twice = tirx.PrimFunc([], tirx.SeqStmt([alloc, alloc, tirx.Evaluate(0)]))
    assert ir.tensor_ir_complaint(tvm.IRModule({"main": once})) is None
    complaint = ir.tensor_ir_complaint(tvm.IRModule({"main": twice}))
    assert complaint is not None
    assert "multiple nested definitions of variable F" in str(complaint)
