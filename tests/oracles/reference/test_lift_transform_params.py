"""The reference of LiftTransformParams: right by itself, and beside TVM's pass."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.errors import NoAnswer
from relaxfuzz.oracles.evaluate.evaluator import evaluate
from relaxfuzz.oracles.inspect import attr, bindings_of, ops_used, relax_functions
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.reference.lift_transform_params import lift_transform_params
from relaxfuzz.oracles.structural.canonical import equivalent
from relaxfuzz.oracles.structural.checkers import flaw
from relaxfuzz.oracles.text.standalone import standalone
from relaxfuzz.oracles.violation import Case, Violation

CONTRACT = catalogue["LiftTransformParams"]


def forgets_returned() -> tvm.transform.Pass:
    return lift_transform_params(forgets_returned=True)


def shared() -> tvm.transform.Pass:
    return lift_transform_params(True)


def violations(
    mod: tvm.IRModule, factory: str = "lift_transform_params", arguments: str = ""
) -> list[Violation]:
    call = PassCall(f"{factory}({arguments})", factory=f"{__file__}:{factory}", like=CONTRACT.name)
    return check(Case(mod, (call,)), besides=VALUES)


def lifted(mod: tvm.IRModule) -> tvm.IRModule:
    """The reference's result, with which the harness finds nothing wrong."""
    relax.analysis.well_formed(mod)
    assert violations(mod) == []
    return lift_transform_params()(mod)


def params(mod: tvm.IRModule, name: str = "main") -> list[str]:
    return [str(param.name) for param in mod[name].params]


def steps(mod: tvm.IRModule, name: str) -> set[str]:
    return {op.removeprefix("relax.") for op in ops_used(mod[name])}


@I.ir_module
class Model:
    """Two weights: one is transformed, the other used as it is."""

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        w1: R.Tensor((4, 3), "float32"),
        w2: R.Tensor((4,), "float32"),
        w3: R.Tensor((4,), "float32"),
    ) -> R.Tensor((2, 4), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w1_t = R.permute_dims(w1)
            y = R.matmul(x, w1_t)
            gv = R.add(y, w2)
            R.output(gv)
        return gv


def test_a_function_is_split() -> None:
    after = lifted(Model)
    assert params(after) == ["x", "w2", "w1_t"]
    assert steps(after, "main") == {"matmul", "add"}
    assert steps(after, "main_transform_params") == {"permute_dims"}
    assert len(after["main_transform_params"].params[0].ty.fields) == 3
    assert attr(after["main_transform_params"], "num_input") == 0


def test_tvm_splits_it_the_same_way() -> None:
    assert equivalent(lifted(Model), relax.transform.LiftTransformParams()(Model))


@I.ir_module
class Returned:
    """What is made of weights, and a weight itself, are results."""

    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2, 3), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w_t = R.permute_dims(w)
            y = R.negative(x)
            R.output(w_t, y)
        return (y, (w_t, w))


@I.ir_module
class ReturnedAlone:
    @R.function
    def main(w: R.Tensor((2, 3), "float32")):
        R.func_attr({"num_input": 0})
        return w


def test_what_is_returned_is_passed_on() -> None:
    assert params(lifted(Returned)) == ["x", "w", "w_t"]
    assert params(lifted(ReturnedAlone)) == ["w"]


@pytest.mark.parametrize("mod", [Returned, ReturnedAlone])
def test_historic_fault_forgets_what_is_returned(mod: tvm.IRModule) -> None:
    for faulty in (forgets_returned(), relax.transform.LiftTransformParams()):
        with pytest.raises(ValueError, match=r"Var w\w* is not defined"):
            relax.analysis.well_formed(faulty(mod))
    (found,) = violations(mod, "forgets_returned")
    assert found.oracle == "well-formed"
    assert violations(Model, "forgets_returned") == []


@I.ir_module
class Corners:
    """Each function is a corner."""

    @R.function
    def aliases(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = w
            t = (a, w)
            b = t[0]
            gv = R.add(x, b)
            R.output(a, gv)
        return (gv, a)

    @R.function
    def constants(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            one = R.ones((2,), "float32")
            w_one = R.add(w, one)
            x_one = R.add(x, one)
            gv = R.multiply(w_one, x_one)
            R.output(gv)
        return gv

    @R.function
    def stopped(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w_n = R.negative(w)
            s = R.builtin.stop_lift_params(w_n)
            e = R.exp(s)
            gv = R.add(x, e)
            R.output(gv)
        return gv

    @R.function
    def stopped_constants(w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            one = R.ones((2,), "float32")
            s = R.builtin.stop_lift_params(one)
            t = R.builtin.stop_lift_params(R.const([1.0, 2.0], "float32"))
            st = R.add(s, t)
            gv = (st, w)
            R.output(gv)
        return gv

    @R.function
    def shapes(w: R.Tensor((16, "n"), "float32"), v: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 0})
        n = T.int64()
        with R.dataflow():
            zeros = R.zeros(R.shape([n]), "float32")
            gv = R.negative(v)
            R.output(zeros, gv)
        return (zeros, gv)

    @R.function
    def dependent(x: R.Tensor(("n", 2), "float32"), w: R.Tensor(("n * 2",), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv = R.negative(w)
            R.output(gv)
        return (x, gv)

    @R.function
    def casts(x: R.Tensor((2,), "float32"), w: R.Tensor(ndim=1, dtype="float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            known = R.match_cast(w, R.Tensor((2,), "float32"))
            w_n = R.negative(known)
            gv = R.add(x, w_n)
            R.output(gv)
        return gv

    @R.function
    def dimensions(w: R.Tensor(ndim=1, dtype="float32")):
        R.func_attr({"num_input": 0})
        k = T.int64()
        with R.dataflow():
            cast = R.match_cast(w, R.Tensor((k,), "float32"))
            gv = R.negative(cast)
            R.output(gv)
        return gv

    @R.function
    def branches(
        c: R.Tensor((), "bool"), w: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32")
    ):
        R.func_attr({"num_input": 1})
        if c:  # noqa: SIM108 - TVMScript
            y = R.negative(w)
        else:
            y = R.exp(w)
        return y

    @R.function
    def unused(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            dead = R.negative(w)  # noqa: F841 - that is the point
            R.output()
        return x


def test_corners() -> None:
    after = lifted(Corners)
    assert params(after, "aliases") == ["x", "a", "b"]
    assert params(after, "constants") == ["x", "w_one"]
    assert steps(after, "constants") == {"ones", "add", "multiply"}
    assert params(after, "stopped") == ["x", "w_n"]
    assert steps(after, "stopped") == {"exp", "add"}
    assert params(after, "stopped_constants") == ["w"]
    assert steps(after, "stopped_constants") == {"ones", "add"}
    assert steps(after, "shapes") == {"zeros"}
    assert isinstance(after["shapes"].params[0].ty, relax.ShapeType)
    assert params(after, "casts") == ["x", "w_n"]
    assert steps(after, "dimensions") == {"negative"}
    assert params(after, "branches") == ["c", "w"]
    assert params(after, "unused") == ["x"]
    assert not bindings_of(after["unused"])


def test_weights_whose_dimensions_come_from_inputs() -> None:
    """The transform cannot know them; upstream's answer is not supported yet (ill-formed)."""
    after = lifted(Corners)
    assert after["dependent_transform_params"].params[0].ty.fields[0].shape is None
    assert after["dependent"].params[1].ty.shape is None
    with pytest.raises(ValueError, match="Var n is not defined"):
        relax.analysis.well_formed(relax.transform.LiftTransformParams()(Corners))


@I.ir_module
class Called:
    @R.function
    def model(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w_n = R.negative(w)
            gv = R.add(x, w_n)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = Called.model(x, x)
            R.output(gv)
        return gv


def test_callers_inside_of_the_module_call_the_whole_function() -> None:
    after = lifted(Called)
    assert params(after, "model") == ["x", "w_n"]
    (whole,) = (func for gvar, func in relax_functions(after) if gvar.name_hint == "model_whole")
    assert attr(whole, "global_symbol") is None
    assert attr(whole, "num_input") is None


def existing(transform: relax.Function) -> tvm.IRModule:
    """`Model` with a transform; somebody calls that."""
    mod = tvm.IRModule({"main": Model["main"]})
    gvar = tvm.ir.GlobalVar("main_transform_params")
    transform = transform.with_attr("global_symbol", gvar.name_hint)
    relax.expr._update_type(gvar, transform.ty)
    mod[gvar] = transform
    builder = relax.BlockBuilder(mod)
    weights = [relax.Var(param.name, param.ty) for param in transform.params]
    with builder.function("caller", weights):
        builder.emit_func_output(builder.emit(relax.Call(gvar, weights)))
    return builder.get()


@R.function
def doubled(raw: R.Tensor((4, 3), "float32"), w2: R.Tensor((4,), "float32")) -> R.Tuple(
    R.Tensor((4, 3), "float32"), R.Tensor(ndim=1, dtype="float32"), R.Tensor((4,))
):
    with R.dataflow():
        w1 = R.add(raw, raw)
        gv = (w1, w2, w2)
        R.output(gv)
    return gv


@R.function
def single(raw: R.Tensor((4, 3), "float32")) -> R.Tuple(R.Tensor((4, 3), "float32")):
    R.func_attr({"num_input": 0})
    with R.dataflow():
        gv = (raw,)
        R.output(gv)
    return gv


def test_a_transform_that_is_there_is_composed_with_the_new_one() -> None:
    after = lifted(existing(doubled))
    assert params(after) == ["x", "w2", "w1_t"]
    assert params(after, "main_transform_params") == ["raw", "w2"]
    assert steps(after, "main_transform_params") == {"permute_dims"}
    assert steps(after, "main_transform_params_whole") == {"add"}
    x, raw, w2 = (np.arange(6.0).reshape(2, 3), np.ones((4, 3)), np.arange(4.0))
    x, raw, w2 = (array.astype("float32") for array in (x, raw, w2))
    weights = evaluate(after, "main_transform_params", [raw, w2])
    expected = evaluate(Model, "main", [x, raw + raw, w2, w2])
    np.testing.assert_allclose(evaluate(after, "main", [x, *weights]), expected)


def test_beside_a_transform_that_gives_something_else_nothing_is_lifted() -> None:
    mod = existing(single)
    assert params(lifted(mod)) == params(mod)


@I.ir_module
class Sharing:
    @R.function
    def first(
        x: R.Tensor((3,), "float32"),
        w1: R.Tensor((3, "n"), "float32"),
        w2: R.Tensor((3,), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            n2 = R.negative(w2)
            t1 = R.permute_dims(w1)
            gv = (R.matmul(t1, x), n2)
            R.output(gv)
        return gv

    @R.function
    def second(w1: R.Tensor((3, "m"), "float32"), w2: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            t1 = R.permute_dims(w1)
            again = R.permute_dims(w1)
            e2 = R.exp(w2)
            gv = (R.matmul(t1, e2), again)
            R.output(gv)
        return gv

    @R.function
    def main_transform_params(
        w: R.Tuple(R.Tensor((2,), "float32")),
    ) -> R.Tuple(R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 0})
        return w


def test_a_shared_transform_has_what_is_common() -> None:
    assert violations(Sharing, "shared", "shared_transform=True") == []
    after = shared()(Sharing)
    assert steps(after, "transform_params") == {"permute_dims"}
    assert params(after, "first") == ["x", "w2", "t1"]
    assert params(after, "second") == ["w2", "t1"]
    only = lift_transform_params(["second"])(Sharing)
    assert steps(only, "transform_params") >= {"permute_dims", "exp"}
    assert params(only, "first") == params(Sharing, "first")


def test_what_cannot_share_a_transform_is_refused() -> None:
    with pytest.raises(ValueError, match=r"second, but got 'secon'"):
        lift_transform_params(["secon"])(Sharing)
    with pytest.raises(RuntimeError, match="take the same weights"):
        lift_transform_params(["constants", "unused", "shapes"])(Corners)
    with pytest.raises(NoAnswer, match="MatchCast is not supported in global lifting"):
        lift_transform_params(["casts"])(Corners)


def test_generated_modules() -> None:
    """Nothing is wrong with the reference; where TVM's pass works, both keep what is promised."""
    applied = 0
    theirs_too = 0
    for index in range(60):
        stage = CONTRACT.stages[index % len(CONTRACT.stages)]
        mod = example(ir_modules(force=["num-input"], stage=stage), 6, index)
        if CONTRACT.requires(mod) is not None or flaw(mod) is not None:
            continue  # passes on the way to a stage break some modules
        applied += 1
        call = PassCall("LiftTransformParams()")
        assert CONTRACT.post(mod, lifted(mod), call) is None
        if not check(Case(mod, (call,))):
            theirs_too += 1
            assert CONTRACT.post(mod, call.run(mod), call) is None
    assert applied >= 20
    assert theirs_too >= 3


def test_it_can_be_copied_into_a_reproducer() -> None:
    names: dict[str, object] = {}
    exec(standalone(lift_transform_params), names)
    after = names["lift_transform_params"]()(Model)  # type: ignore[operator]
    tvm.ir.assert_structural_equal(after, lift_transform_params()(Model))
