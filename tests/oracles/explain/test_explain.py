"""Why modules do not build; every piece of advice is followed, and must help."""

# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.explain import explain
from relaxfuzz.oracles.explain.trouble import Explanation, Trouble, TroubleKind

BUILDS = """\
import tvm
from relaxfuzz.oracles.pipelines import steps


def without(*names):
    passes = [call.build() for call in steps("default") if call.name not in names]
    return tvm.transform.Sequential(passes)


def legalizes_nothing():
    return without("LegalizeOps")


def breaks():
    @tvm.transform.module_pass(opt_level=0, name="Breaks")
    def breaks(mod, context):
        raise ValueError("the message of a pass\\nin two lines")

    return tvm.transform.Sequential([tvm.relax.transform.LegalizeOps(), breaks])
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with pipelines."""
    file = tmp_path_factory.mktemp("builds") / "builds.py"
    file.write_text(BUILDS)
    return file


def only(found: Explanation) -> Trouble:
    assert len(found.troubles) == 1, found.troubles
    (trouble,) = found.troubles
    return trouble


def marked(trouble: Trouble) -> str:
    """The marked part of the excerpt."""
    excerpt = trouble.excerpt
    assert excerpt is not None
    return excerpt.line[excerpt.column : excerpt.column + excerpt.width]


def assert_builds(mod: tvm.IRModule, pipeline: str = "default") -> None:
    """Nothing is wrong, and TVM thinks so, too."""
    found = explain(mod, pipeline)
    assert found.troubles == ()
    assert found.built
    relax.VirtualMachine(tvm.relax.build(mod, "llvm"), tvm.cpu())


def does_not_build(mod: tvm.IRModule) -> bool:
    try:
        relax.VirtualMachine(tvm.relax.build(mod, "llvm"), tvm.cpu())
    except Exception:
        return True
    return False


@I.ir_module
class Correct:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            y = R.nn.relu(R.add(x, x))
            R.output(y)
        return y


@pytest.mark.parametrize("pipeline", ["default", "zero", "cpu_generic"])
def test_a_correct_module_has_no_problems(pipeline: str) -> None:
    found = explain(Correct, pipeline)
    assert found.troubles == ()
    assert found.built
    # The users of "zero" go on with `relax.build`, which runs "default".
    assert found.steps.count("LegalizeOps") == (2 if pipeline == "zero" else 1)


@I.ir_module
class NoShape:
    @R.function
    def main(x: R.Tensor(dtype="float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.multiply(y, y)
            b = R.add(x, a)
            c = R.add(b, a)
            R.output(c)
        return c


def test_a_parameter_without_a_shape() -> None:
    assert does_not_build(NoShape)
    trouble = only(explain(NoShape, file=__file__))
    assert trouble.kind is TroubleKind.NOT_LOWERED
    assert trouble.title == "`R.add` cannot be lowered: the shape of `x` is not known"
    assert (trouble.function, trouble.step) == ("main", "LegalizeOps")
    assert marked(trouble) == "R.add(x, a)"
    assert 'The parameter `x` is declared as `R.Tensor(dtype="float32")`.' in trouble.notes
    source = Path(__file__).read_text().splitlines()
    assert trouble.excerpt is not None
    number = trouble.excerpt.number
    assert number is not None
    assert source[number - 1].strip() == "b = R.add(x, a)"
    assert any("`c = R.add(...)`" in note for note in trouble.notes)
    assert trouble.help[0].startswith("Declare the shape of the parameter `x`, as in `R.Tensor(")
    assert "`R.match_cast(x, R.Tensor((n, 4), " in trouble.help[1]


def test_symbolic_sizes_are_advised_where_they_do() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(dtype="float32", ndim=2)):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    trouble = only(explain(Module))
    assert '`R.Tensor(("n", 4), "float32")`' in trouble.help[0]
    assert "after `n = T.int64()`" in trouble.help[1]

    @I.ir_module
    class Annotated:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    @I.ir_module
    class Cast:
        @R.function
        def main(x: R.Tensor(dtype="float32", ndim=2)):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                x_known = R.match_cast(x, R.Tensor((n, m), "float32"))
                y = R.nn.relu(x_known)
                R.output(y)
            return y

    assert_builds(Annotated)
    assert_builds(Cast)


def test_an_operator_that_nobody_lowers() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                y = R.ewise_fma(x, x, x)
                R.output(y)
            return y

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert trouble.kind is TroubleKind.NOT_LOWERED
    assert "`R.ewise_fma`" in trouble.title
    assert marked(trouble) == "R.ewise_fma(x, x, x)"
    assert trouble.step == "LegalizeOps"
    assert trouble.help[0] == "Write what `R.ewise_fma` computes with other operators."
    assert 'LegalizeOps({"relax.ewise_fma": legalize})' in trouble.help[1]

    @I.ir_module
    class Instead:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                y = R.add(R.multiply(x, x), x)
                R.output(y)
            return y

    assert_builds(Instead)

    def legalize(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        product = builder.emit(relax.op.multiply(call.args[0], call.args[1]))
        return relax.op.add(product, call.args[2])

    # What the legalization gives is legalized by the pipeline.
    assert_builds(relax.transform.LegalizeOps({"relax.ewise_fma": legalize})(Module))


def test_a_pass_that_helps_is_tried() -> None:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                y = R.hint_on_device(x, tvm.cpu())
                z = R.add(y, y)
                R.output(z)
            return z

    assert does_not_build(Module)
    (advice,) = only(explain(Module)).help
    assert "Run `relax.transform.RealizeVDevice()`" in advice
    assert_builds(relax.transform.RealizeVDevice()(Module))


def test_what_dead_code_elimination_removes_is_told() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                unused = R.ewise_fma(x, x, x)
                y = R.multiply(x, x)
                z = R.add(y, x)
                R.output(z)
            return z

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert "Run `relax.transform.DeadCodeElimination()`" in trouble.help[0]
    assert_builds(relax.transform.DeadCodeElimination()(Module))


@I.ir_module
class Convolution:
    @R.function
    def main(x: R.Tensor((1, 3, 8, 8)), w: R.Tensor((4, 3, 3, 3))):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y


@I.ir_module
class TypedConvolution:
    @R.function
    def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y


def test_parameters_without_a_dtype_on_which_a_step_raises() -> None:
    assert does_not_build(Convolution)
    trouble = only(explain(Convolution))
    assert trouble.kind is TroubleKind.NOT_LOWERED
    assert "the dtype of `x` and of `w` is not known" in trouble.title
    assert trouble.step == "LegalizeOps"
    assert any("The parameter `w` is declared as" in note for note in trouble.notes)
    assert any("LegalizeOps raises" in note for note in trouble.notes)
    assert "the dtype of the parameter `x`" in trouble.help[0]
    assert "the dtype of the parameter `w`" in trouble.help[0]
    assert_builds(TypedConvolution)


def test_a_shape_that_a_packed_call_does_not_declare() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.call_pure_packed("vm.builtin.copy", x, ty_args=[R.Tensor(ndim=2)])
                b = R.nn.relu(a)
                R.output(b)
            return b

    trouble = only(explain(Module))
    assert "the shape of `a`" in trouble.title
    assert any("TVM knows of `a` only the type in the call" in note for note in trouble.notes)
    assert "ty_args=" in trouble.help[0]
    assert "R.match_cast(a, " in trouble.help[1]

    @I.ir_module
    class Followed:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                a = R.call_pure_packed("vm.builtin.copy", x, ty_args=[R.Tensor((2, 3), "float32")])
                b = R.nn.relu(a)
                c = R.call_pure_packed("vm.builtin.copy", x, ty_args=[R.Tensor(ndim=2)])
                c_known = R.match_cast(c, R.Tensor((n, m), "float32"))
                d = R.nn.relu(c_known)
                R.output(b, d)
            return (b, d)

    assert_builds(Followed)


def test_a_shape_that_a_function_does_not_declare() -> None:
    @I.ir_module
    class Module:
        @R.function(private=True)
        def callee(x: R.Tensor((2, 3), "float32")) -> R.Tensor(dtype="float32"):
            y = R.call_pure_packed(
                "vm.builtin.copy", x, ty_args=[R.Tensor(dtype="float32", ndim=2)]
            )
            return y

        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            cls = Module
            a = cls.callee(x)
            b = R.nn.relu(a)
            return b

    trouble = only(explain(Module))
    assert marked(trouble) == "R.nn.relu(a)"
    assert "`callee` is declared to return" in trouble.notes[1]
    assert trouble.help[0].startswith("Declare more of its result")


def test_an_annotation_that_is_weaker_than_what_tvm_infers() -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    y = relax.Var("y", relax.TensorType(None, "float32", ndim=2))
    value = relax.op.nn.relu(x)
    relax.expr._update_type(value, y.ty)
    trouble = only(explain(module([x], [(y, value)])))
    assert "less than TVM infers" in " ".join(trouble.notes)
    assert "Leave the annotation out" in trouble.help[0]
    assert 'y: R.Tensor((2, 3), dtype="float32")' in trouble.help[0]
    y = relax.Var("y", x.ty)
    value = relax.op.nn.relu(x)
    relax.expr._update_type(value, y.ty)
    assert_builds(module([x], [(y, value)]))


def module(params: list[relax.Var], bindings: list[tuple[relax.Var, relax.Expr]]) -> tvm.IRModule:
    """One function, with the types that its variables and calls have."""
    result = bindings[-1][0]
    block = relax.BindingBlock([relax.VarBinding(var, value) for var, value in bindings])
    body = relax.SeqExpr([block], result)
    relax.expr._update_type(body, result.ty)
    func = relax.Function(params, body, result.ty).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": func})


def test_a_local_function() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            @R.function
            def inner(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
                z = R.nn.relu(y)
                return z

            w = inner(x)
            return w

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert "has a function inside" in trouble.title
    assert trouble.function == "main"
    assert "LambdaLift()" in trouble.help[0]
    assert_builds(relax.transform.LambdaLift()(Module))


def test_a_step_that_raises(builds: Path) -> None:
    trouble = only(explain(Correct, f"{builds}:breaks"))
    assert trouble.kind is TroubleKind.RAISES
    assert trouble.title == "Breaks raises ValueError: the message of a pass"
    assert trouble.step == "Breaks"


def ill_formed() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    unbound = relax.Var("unbound", x.ty)
    value = relax.BlockBuilder().normalize(relax.op.add(x, unbound))
    return module([x], [(relax.Var("y", x.ty), value)])


def test_an_ill_formed_module() -> None:
    found = explain(ill_formed())
    trouble = only(found)
    assert trouble.kind is TroubleKind.ILL_FORMED
    assert found.steps == ()
    assert trouble.function == "main"
    assert "Var unbound is not defined." in trouble.notes


def test_the_call_for_which_code_generation_fails() -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    mask = relax.Var("mask", relax.TensorType((3,), "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, mask]):
        builder.emit(relax.op.exp(x))
        builder.emit_func_output(builder.emit(relax.op.cumsum(mask, 0)))
    mod = builder.get()
    assert does_not_build(mod)
    found = explain(mod)
    trouble = only(found)
    assert (trouble.kind, trouble.function) == (TroubleKind.RAISES, "main")
    assert trouble.title == "code generation fails for `R.cumsum`"
    assert marked(trouble).startswith("R.cumsum(mask, axis=0")
    assert not found.built


def test_what_is_not_understood_is_not_explained_away() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def threads(x: T.Buffer((2,), "float32")):
            for i in T.thread_binding(2, thread="blockIdx.x"):
                x[i] = T.float32(0)

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert trouble.kind is TroubleKind.UNEXPLAINED
    assert trouble.title.startswith("I cannot explain this")
    assert trouble.notes[0].startswith("The build fails with ")


def test_a_function_that_is_defined_nowhere_is_named_as_tvm_names_it() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                y = R.call_dps_packed("relaxfuzz.test", x, R.Tensor((2, 3), "float32"))
                R.output(y)
            return y

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert "relaxfuzz.test" in trouble.notes[0]
    assert "`tvm_ffi.register_global_func`" in trouble.help[0]
