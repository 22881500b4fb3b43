"""Calls that come again."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.generators.bindings.repeats import near_constants, repeat
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.scope import Scope


@pytest.mark.parametrize(("end", "calls"), [(4, 3), (1, 2)], ids=["one-element", "less-than-none"])
def test_what_has_a_negative_size_is_not_combined(end: int, calls: int) -> None:
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    scope.dataflow(True)
    scope.fresh(Choices(b""), (5,), "float32")
    x = scope.fresh(Choices(b""), (4,), "float32")
    scope.bind(relax.op.strided_slice(x.expr, [0], [3], [end]))
    repeat(Choices(b"\x00\x00\x00\xff"), scope, (), ())
    assert len(scope.bound()) == calls


def test_a_call_may_come_on_its_own_result() -> None:
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    scope.dataflow(True)
    x = scope.fresh(Choices(b""), (9,), "float32")
    scope.bind(relax.op.strided_slice(x.expr, [0], [1], [9], [2]))
    repeat(Choices(b"\x00\x05"), scope, (), ())
    inner, outer = scope.bound()
    assert outer.value.args[0].same_as(inner.var)
    for before, after in zip(inner.value.args[1:], outer.value.args[1:], strict=True):
        assert tvm_ffi.structural_equal(before, after)


def test_a_call_may_come_with_another_text() -> None:
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    scope.dataflow(True)
    x = scope.fresh(Choices(b""), (4,), "float32")
    i = scope.fresh(Choices(b""), (2,), "int64")
    scope.bind(relax.op.add(x.expr, x.expr))
    scope.bind(relax.op.take(x.expr, i.expr, 0))
    scope.bind(relax.op.multiply(x.expr, x.expr))
    repeat(Choices(b"\x00\x04"), scope, (), ())
    again = scope.bound()[-1].value
    assert again.op.name == "relax.take"  # the only call with attributes
    assert str(again.attrs.mode) not in ("", str(scope.bound()[1].value.attrs.mode))


def test_a_call_may_come_with_a_constant_that_differs_little() -> None:
    """A pass that shares equal constants must tell zeros of both signs apart."""
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    x = scope.fresh(Choices(b""), (2, 2), "float32")
    data = np.float32([[0, 1], [-0.0, 2]])
    scope.bind(relax.op.divide(x.expr, relax.const(data)))
    near = near_constants(scope, scope.bound()[0].value)
    signs, other = (ir.constant_data(each.operands[(1,)]).numpy() for each in near)
    assert (signs == data).all()
    assert (np.signbit(signs) != np.signbit(data)).tolist() == [[True, False], [True, False]]
    assert other.tolist() == [[0, 1], [0, 0]]


def test_what_type_inference_cannot_check_gets_no_other_operand() -> None:
    """It does not know that the variable is null, and takes a view of any tensor."""
    viewed = set()
    for change in range(256):
        scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
        scope.dataflow(True)
        scope.fresh(Choices(b""), (3,), "float32")
        x = scope.fresh(Choices(b""), (8, 3), "float32")
        null = scope.bind(relax.op.null_value())
        operands = [x.expr, relax.ShapeExpr([7, 3]), null, relax.prim_value(12)]
        scope.bind(relax.Call(tvm.ir.Op.get("relax.memory.view"), operands))
        repeat(Choices(bytes((0, change, change))), scope, (), ())
        viewed |= {
            str(b.value.args[0].name) for b in scope.bound() if "view" in str(b.value.op.name)
        }
    assert viewed == {str(x.expr.name)}
