"""What real modules taught us of promises that nobody makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax.expr import _update_type

from relaxfuzz import Checker, PassViolation

from .build_faults import main_of


def claiming(size: int) -> tvm.IRModule:
    """A function that allocates this many elements and declares that they are n."""
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    shape = relax.ShapeExpr([tirx.IntImm("int64", size)])
    call = relax.op.builtin.alloc_tensor(shape, "float32", 0)
    y = relax.Var("y", relax.TensorType((n,), "float32"))
    _update_type(call, y.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, call)])], y)
    _update_type(body, y.ty)
    func = relax.Function([x], body, y.ty, True)
    attrs = {"global_symbol": "main", "relax.force_pure": 1}
    return tvm.IRModule({"main": func.with_attr(attrs)})


def retyped(size: object) -> tvm.transform.Pass:
    """A pass that gives main the result type of a tensor of this size."""

    @tvm.transform.module_pass(opt_level=0)
    def retypes(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        ty = relax.TensorType((size,), "float32")
        result = relax.Var("result", ty)
        block = relax.BindingBlock([relax.MatchCast(result, func.params[0], ty)])
        body = relax.SeqExpr([block], result)
        _update_type(body, ty)
        made = relax.Function(func.params, body, ty, func.is_pure, func.attrs)
        return tvm.IRModule({gvar: made})

    return retypes


def test_a_pass_may_take_back_what_the_module_only_claims(tmp_path: Path) -> None:
    checker = Checker(out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        retyped(10)(claiming(10))
    assert checker.checked["retypes"] == 1


def test_but_not_what_it_proves(tmp_path: Path) -> None:
    n = tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    mod = builder.finalize()
    checker = Checker(out=tmp_path / "out")
    with (
        pytest.raises(PassViolation, match="less is known of the result"),
        tvm.transform.PassContext(instruments=[checker]),
    ):
        retyped(10)(mod)


def test_an_attribute_that_only_the_pass_reads_may_go(tmp_path: Path) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    mod = builder.finalize()
    gvar, func = main_of(mod)
    attribute = "relax.memory_plan_dynamic_func_output"
    mod[gvar] = func.with_attr({attribute: 1, "relax.force_pure": 1})
    checker = Checker(out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        after = relax.transform.StaticPlanBlockMemory()(mod)
    assert attribute not in after["main"].attrs
