"""What real modules taught us of promises that nobody makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax.expr import _update_type

from relaxfuzz import Checker, PassViolation
from relaxfuzz.fuzz.checker.calls import public_name

from .build_faults import main_of, model


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
    checker = Checker(semantics=False, out=tmp_path / "out")
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


def test_the_types_that_a_pass_is_asked_to_change_may_change(tmp_path: Path) -> None:
    """Arguments of a pass are not visible in a build."""
    checker = Checker(out=tmp_path / "out")
    wide = relax.TensorType((3, 4), "float32")
    with tvm.transform.PassContext(instruments=[checker]):
        update = relax.transform.UpdateParamType(
            lambda var: wide if int(var.ty.shape[0]) == 2 else None
        )
        update(model())
    assert not checker.findings


def test_a_contradiction_in_the_module_is_not_the_passs(tmp_path: Path) -> None:
    """The exemption of BindSymbolicVars for claims does not make it promise more elsewhere."""
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    body = relax.SeqExpr([], x)
    _update_type(body, x.ty)
    func = relax.Function([x], body, relax.ShapeType([n]), True)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    checker = Checker(out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        relax.transform.BindSymbolicVars({"n": 3})(mod)
    assert not checker.findings


@pytest.mark.parametrize(
    ("name", "public"),
    [
        ("relax.BindSymbolicVars", "BindSymbolicVars"),
        ("ApplyDefaultSchedule", "dlight.ApplyDefaultSchedule"),
        ("DecomposeOps", "DecomposeOpsForInference"),
        ("MutateOpsForTraining", None),
        ("sequential", None),
    ],
)
def test_a_pass_is_found_by_the_name_that_instruments_are_given(
    name: str, public: str | None
) -> None:
    assert public_name(name) == public


def test_a_batch_norm_may_be_decomposed_as_for_inference(tmp_path: Path) -> None:
    x = relax.Var("x", relax.TensorType((1, 2, 2, 2), "float32"))
    rest = [relax.Var(name, relax.TensorType((2,), "float32")) for name in "abcd"]
    builder = relax.BlockBuilder()
    with builder.function("main", [x, *rest]):
        normed = builder.emit(relax.op.nn.batch_norm(x, *rest, axis=1, training=True))
        builder.emit_func_output(builder.emit(relax.TupleGetItem(normed, 0)))
    checker = Checker(out=tmp_path / "out", semantics=True)
    with tvm.transform.PassContext(instruments=[checker]):
        relax.transform.DecomposeOpsForInference()(builder.get())
    assert not checker.findings
