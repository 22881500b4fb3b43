"""Modules that TVM's type inference makes ill-formed, beside those that their authors do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax
from tvm.script import relax as R

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.checkers import INFERENCE, flaw, inferred_flaw, sound_form
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

X = R.Tensor((2, 2), "float32")

SHAPED: dict[str, Callable[[relax.Expr, relax.Expr], relax.Expr]] = {
    "broadcast_to": relax.op.broadcast_to,
    "reshape": relax.op.reshape,
    "full": lambda x, shape: relax.op.full(shape, relax.const(1.0)),
    "zeros": lambda x, shape: relax.op.zeros(shape, "float32"),
}
"""Operators that put the shape that they are given into the type of their result."""


def built(make: Callable[[relax.Expr, relax.Expr], relax.Expr], *, dataflow: bool) -> tvm.IRModule:
    """A call with a shape that is known at run time, as an importer builds it."""
    x, dims = relax.Var("x", X), relax.Var("dims", R.Tensor((2,), "int64"))
    builder = relax.BlockBuilder()

    def bindings() -> relax.Var:
        shape = builder.emit(relax.op.tensor_to_shape(dims))
        made = builder.emit(make(x, shape))
        return builder.emit(relax.op.exp(made))

    with builder.function("main", [x, dims]):
        if dataflow:
            with builder.dataflow():
                result = builder.emit_output(bindings())
        else:
            result = bindings()
        builder.emit_func_output(result)
    return builder.get()


def one_binding(var: relax.Var, value: relax.Expr, result: relax.Var) -> tvm.IRModule:
    x = next(iter(relax.analysis.free_vars(value)), relax.Var("x", X))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(var, value)])], result)
    relax.expr._update_type(body, result.ty)
    func = relax.Function([x], body, result.ty).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": func})


@pytest.mark.parametrize("name", SHAPED)
def test_what_inference_makes_is_reported(name: str) -> None:
    mod = built(SHAPED[name], dataflow=True)
    assert flaw(mod) is not None
    for calls, pipeline in (((PassCall("LegalizeOps()"),), None), ((), "default")):
        found, *_ = check(Case(mod, calls, pipeline))
        assert found.full_key == ("well-formed", INFERENCE, "ill-formed", "a DataflowVar in a type")


def test_what_the_module_means_is_checked_all_the_same() -> None:
    mod = built(relax.op.broadcast_to, dataflow=True)
    found = check(Case(mod, pipeline="default"))
    assert {(each.oracle, each.pass_name) for each in found} == {
        ("well-formed", INFERENCE),
        ("lowering-complete", "LegalizeOps"),
    }
    alone = check(Case(mod, pipeline="default"), oracles=["lowering-complete"])
    assert [each.key for each in alone] == [each.key for each in found[1:]]


@pytest.mark.parametrize("name", SHAPED)
def test_outside_of_a_dataflow_block_the_types_are_right(name: str) -> None:
    assert inferred_flaw(built(SHAPED[name], dataflow=False)) is None


@pytest.mark.parametrize("name", SHAPED)
def test_the_sound_form_is_well_formed(name: str) -> None:
    sound = sound_form(built(SHAPED[name], dataflow=True))
    assert sound is not None
    assert flaw(sound) is None


def test_a_type_that_nobody_infers_is_its_authors_fault() -> None:
    x = relax.Var("x", X)
    call = relax.BlockBuilder().normalize(relax.op.add(x, x))
    wrong = relax.Var("y", R.Tensor((3, 3), "float32"))
    mod = one_binding(wrong, call, wrong)
    assert flaw(mod) is not None
    assert inferred_flaw(mod) is None


def test_an_undefined_variable_is_its_authors_fault() -> None:
    x, other = relax.Var("x", X), relax.Var("other", X)
    call = relax.BlockBuilder().normalize(relax.op.exp(x))
    mod = one_binding(relax.Var("y", call.ty), call, other)
    assert flaw(mod) is not None
    assert inferred_flaw(mod) is None
    assert check(Case(mod, (PassCall("LegalizeOps()"),))) == []
