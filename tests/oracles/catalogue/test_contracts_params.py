"""Post-conditions and variants of the passes that treat parameters."""

from __future__ import annotations

import random

import pytest
import tvm
from tvm import relax
from tvm.ir import PrimType
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.pass_arguments import positional
from relaxfuzz.oracles.pass_runs import attempt
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Weighted:
    @R.function
    def main(
        x: R.Tensor(("n", 2), "float32"),
        w: R.Tensor((2, 2), "float32"),
        b: R.Tensor((2,), "float32"),
    ) -> R.Tensor(("n", 2), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            t = R.permute_dims(w)
            y = R.matmul(x, t)
            z = R.add(y, b)
            R.output(z)
        return z


@I.ir_module
class OtherWeights:
    """`main` as in Weighted, and a function whose weights are different ones."""

    @R.function
    def main(
        x: R.Tensor(("n", 2), "float32"),
        w: R.Tensor((2, 2), "float32"),
        b: R.Tensor((2,), "float32"),
    ) -> R.Tensor(("n", 2), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            R.output(z)
        return z

    @R.function
    def other(x: R.Tensor((2,), "float32"), w: R.Tensor((3,), "int32")) -> R.Tensor(
        (2,), "float32"
    ):
        R.func_attr({"num_input": 1})
        return x


@I.ir_module
class Transform:
    @R.function
    def main_transform_params(
        model_params: R.Tuple(R.Tensor((2, 2), "float32")),
    ) -> R.Tuple(R.Tensor((2, 2), "float32")):
        R.func_attr({"num_input": 0, "relax.force_pure": True})
        w = model_params[0]
        t = R.permute_dims(w)
        out = (t,)
        return out  # noqa: RET504 (LiftTransformParams too returns a bound tuple)


@I.ir_module
class Foreign:
    @R.function
    def main_transform_params(
        model_params: R.Tuple(R.Tensor((3,), "float32"), R.Tensor((4, 4), "float32")),
    ) -> R.Tuple(R.Tensor((3,), "float32"), R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 0})
        return model_params


@I.ir_module
class Internal:
    @R.function(private=True)
    def twice(
        pair: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
        extra: R.Tensor((3,), "float32"),
    ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        a = pair[0]
        b = R.add(a, a)
        c = pair[1]
        return (b, c)

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        both = Internal.twice((x, x), y)
        return both[0]


BIND = "BindParams('main', {'w': np.ones((2, 2), 'float32')})"

CALLS = {
    "LiftTransformParams()": (Weighted, "no function that transforms the parameters"),
    "LiftTransformParams(shared_transform=True)": (Weighted, "no function that transforms"),
    "LiftTransformParams(shared_transform=['main'])": (Weighted, "no function that transforms"),
    "BundleModelParams()": (Weighted, "does not take its inputs and one tuple"),
    "BundleModelParams(param_tuple_name='weights')": (Weighted, "its inputs and one tuple"),
    "LazyGetInput()": (Weighted, "does not take its inputs and one callback"),
    "LazySetOutput()": (Weighted, "does not return the empty tuple"),
    "LazyTransformParams()": (Transform, "still takes a tuple of weights"),
    BIND: (Weighted, "not the ones that were not bound"),
    "BindSymbolicVars({'n': 4})": (Weighted, "a symbolic variable that was bound is left"),
    "BindSymbolicVars({'n': 4}, 'main')": (Weighted, "a symbolic variable that was bound is left"),
    "ExpandTupleArguments()": (Internal, "an internal function takes a tuple"),
    "RemoveUnusedParameters()": (Internal, "has a parameter that it does not use"),
    "RemoveUnusedOutputs()": (Internal, "returns a field that no caller uses"),
}


@pytest.mark.parametrize("text", CALLS)
def test_a_pass_that_does_nothing_is_noticed(text: str) -> None:
    call = PassCall(text, imports=("import tvm.relax.op.vm",))
    mod, problem = CALLS[text]
    found = catalogue[call.name].post(mod, mod, call)
    assert found is not None
    assert problem in found


@pytest.mark.parametrize("text", CALLS)
def test_the_pass_keeps_its_promise(text: str) -> None:
    call = PassCall(text, imports=("import tvm.relax.op.vm",))
    mod, _ = CALLS[text]
    assert catalogue[call.name].requires(mod) is None
    assert catalogue[call.name].post(mod, call.run(mod), call) is None


@I.ir_module
class DeadUse:
    """The second output is used, though by dead code only."""

    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        y = R.nn.relu(x)
        return (x, y)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = DeadUse
        both = cls.inner(x)
        first = both[0]
        _second = both[1]
        return first


def test_an_output_that_dead_code_used_may_stay() -> None:
    call = PassCall("RemoveUnusedOutputs()")
    assert catalogue[call.name].post(DeadUse, call.run(DeadUse), call) is None


def test_a_transform_that_returns_other_weights_is_noticed() -> None:
    call = PassCall("LiftTransformParams()")
    good = call.run(Weighted)
    mixed = tvm.IRModule(
        {"main": Weighted["main"], "main_transform_params": good["main_transform_params"]}
    )
    post = catalogue["LiftTransformParams"].post
    assert post(Weighted, good, call) is None
    bad = tvm.IRModule(
        {
            "main": PassCall("BundleModelParams()").run(Weighted)["main"],
            "main_transform_params": good["main_transform_params"],
        }
    )
    assert (
        post(Weighted, bad, call)
        == "what transform_params returns is not what the function accepts"
    )
    assert post(Weighted, mixed, call) is not None


def test_an_existing_transform_of_other_weights_promises_no_types() -> None:
    call = PassCall("LiftTransformParams()")
    post = catalogue["LiftTransformParams"].post
    functions = {
        "main": Weighted["main"],
        "main_transform_params": Foreign["main_transform_params"],
    }
    before = tvm.IRModule(functions)
    assert post(before, before, call) is None
    assert post(Weighted, before, call) is not None


def test_shared_transforms_are_asked_only_of_functions_that_agree() -> None:
    variants = catalogue["LiftTransformParams"].variants
    source = random.Random(0)
    texts = {str(variants(Choices(source.randbytes(8)), OtherWeights)) for _ in range(40)}
    assert not any("=True" in text.replace("consume_params': True", "") for text in texts)
    assert any("shared_transform=['main']" in text for text in texts)


@pytest.mark.parametrize("name", ["BindParams", "BindSymbolicVars", "UpdateParamType"])
def test_the_arguments_fit_the_module(name: str) -> None:
    contract = catalogue[name]
    source = random.Random(1)
    for _ in range(12):
        call = contract.choose(Choices(source.randbytes(16)), Weighted)
        assert call is not None
        assert contract.post(Weighted, call.run(Weighted), call) is None


def test_a_name_that_two_variables_of_a_function_have_is_not_bound() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
            return R.add(x, x)

    m, n = (tvm.tirx.Var("n", "int64") for _ in range(2))
    x = relax.Var("x", relax.TensorType((m, n), "float32"))
    two = relax.Function([x], relax.SeqExpr([], x), x.ty).with_attr("global_symbol", "two")
    mod = tvm.IRModule({**dict(Module.functions_items()), "two": two})
    contract, source = catalogue["BindSymbolicVars"], random.Random(1)
    for _ in range(24):
        call = contract.choose(Choices(source.randbytes(16)), mod)
        assert call is not None
        assert contract.post(mod, call.run(mod), call) is None


def test_a_variable_of_the_type_of_a_function_is_none_of_the_function_that_takes_it() -> None:
    n, m = (tvm.tirx.Var(name, "int64") for name in "nm")
    tensor = relax.TensorType((n,), "float32")
    taken = relax.Var("taken", relax.FuncType([tensor], tensor))
    x = relax.Var("x", relax.TensorType((m,), "float32"))
    func = relax.Function([taken, x], relax.SeqExpr([], x), x.ty).with_attr("global_symbol", "main")
    mod, contract = tvm.IRModule({"main": func}), catalogue["BindSymbolicVars"]
    bound = set()
    for i in range(24):
        call = contract.choose(Choices(random.Random(i).randbytes(16)), mod)
        assert call is not None
        bound.update(positional(call)[0])
    assert bound == {"m"}
    call = PassCall("BindSymbolicVars({'n': 4}, 'main')")
    assert contract.post(mod, call.run(mod), call) is None


def test_a_weight_that_is_a_dimension_of_others_is_bundled_with_them() -> None:
    n = relax.Var("n", PrimType("int64"))
    w = relax.Var("w", relax.TensorType((n, 2), "float32"))
    func = relax.Function([n, w], relax.SeqExpr([], w), relax.TensorType(dtype="float32", ndim=2))
    func = func.with_attr({"num_input": 0, "global_symbol": "main"})
    mod, call = tvm.IRModule({"main": func}), PassCall("BundleModelParams()")
    assert catalogue["BundleModelParams"].post(mod, call.run(mod), call) is None


def test_bound_extents_that_no_operator_takes_are_refused() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 2, 2), "float32"), y: R.Tensor((2, 2, 2), "float32")):
            return R.matmul(x, y)

    @I.ir_module
    class Vector:
        @R.function
        def main(x: R.Tensor((2, "n"), "float32"), y: R.Tensor((2,), "float32")):
            return R.matmul(x, y)

    @I.ir_module
    class Normed:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor(("n",), "float32")):
            return R.nn.layer_norm(x, y, y, axes=[1])

    call = PassCall("BindSymbolicVars({'n': 4}, 'main')")
    for mod in (Module, Vector, Normed):
        assert isinstance(attempt(call.run, mod).error, ValueError)
        assert check(Case(mod, (call,))) == []


@pytest.mark.parametrize(
    "text",
    ["BindSymbolicVars({'n': 1})", "BindParams('main', {'x': np.ones((3,), 'float32')})"],
)
def test_a_type_that_is_right_for_some_extents_need_not_fit_others(text: str) -> None:
    @I.ir_module
    class Inferred:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y: R.Tensor((n,), "float32") = R.zeros(R.shape([n]), "float32")
            return y

    @I.ir_module
    class Claimed:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y: R.Tensor((n,), "float32") = R.zeros(R.shape([10]), "float32")
            return y

    call = PassCall(text)
    exempt = catalogue[call.name].exemption
    assert not exempt("well-formed", Inferred, call)
    assert exempt("well-formed", Claimed, call)
    assert not relax.analysis.check_well_formed(call.run(Claimed))
    assert check(Case(Claimed, (call,))) == []


def test_only_type_inference_refuses_bound_extents() -> None:
    (refusal,) = (each for each in catalogue["BindSymbolicVars"].rejections if each.function)
    assert not refusal.covers(ValueError("the pass is wrong"), Weighted)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Argument 0 type mismatch: expected R.Tensor((4,)), given R.Tensor((3,))", True),
        ('Argument 0 type mismatch: expected R.Tensor(vdevice="a"), given R.Tensor()', False),
        ('Argument 0 type mismatch: expected R.Tensor(vdevice="a"), given (vdevice="a")', True),
        ("the shape (4,) is not convertible from the old one", True),
    ],
)
def test_bound_extents_excuse_no_lost_device(text: str, refused: bool) -> None:
    error = ValueError(text)
    assert (
        any(each.covers(error, Weighted) for each in catalogue["BindParams"].rejections) is refused
    )


@I.ir_module
class Overwritten:
    @T.prim_func(private=True)
    def clear(x: T.Buffer((T.int64(2),), "float32")):
        for i in range(2):
            x[i] = T.float32(0)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.call_tir_inplace(Overwritten.clear, (x,), [0], R.Tensor((2,), "float32"))


def test_nothing_is_bound_where_a_parameter_may_be_updated_in_place() -> None:
    assert "in place" in (catalogue["BindParams"].requires(Overwritten) or "")
    assert catalogue["BindParams"].requires(Weighted) is None
