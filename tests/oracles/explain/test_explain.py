"""Why modules do not build; every piece of advice is followed, and must help."""

# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.explain import Explanation, Kind, Trouble, breakage, explain
from relaxfuzz.oracles.explain.steps import Broken, walk
from relaxfuzz.oracles.explain.traced import Traced
from relaxfuzz.oracles.inspect import calls_of
from relaxfuzz.oracles.pipelines import UnknownPipeline
from relaxfuzz.oracles.violation import silent

BUILDS = """\
import tvm
from relaxfuzz.oracles.pipelines import steps
from relaxfuzz.oracles.reference.attach_global_symbol import attach_global_symbol


def without(*names):
    passes = [call.build() for call in steps("default") if call.name not in names]
    return tvm.transform.Sequential(passes)


def leaves_global_vars():
    last = attach_global_symbol(leaves_global_vars=True)
    return tvm.transform.Sequential([without("AttachGlobalSymbol"), last])


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


def marked(trouble: Trouble) -> list[str]:
    """What is marked in the excerpts."""
    return [e.line[e.column : e.column + e.width] for e in trouble.excerpts]


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
    assert trouble.kind is Kind.NOT_LOWERED
    assert trouble.title == "`R.add` cannot be lowered: the shape of `x` is not known"
    assert (trouble.function, trouble.step) == ("main", "LegalizeOps")
    assert marked(trouble) == ["R.add(x, a)", "x"]
    source = Path(__file__).read_text().splitlines()
    number = trouble.excerpts[0].number
    assert number is not None
    assert source[number - 1].strip() == "b = R.add(x, a)"
    assert any("`c = R.add(...)`" in note for note in trouble.notes)
    # Symbolic sizes would not do: TVM must see that they fit those of `a`.
    assert '`x: R.Tensor((2, 3), "float32")`' in trouble.help[0]
    assert '`x_known = R.match_cast(x, R.Tensor((2, 3), "float32"))`' in trouble.help[1]


def test_advice_for_a_parameter_without_a_shape() -> None:
    @I.ir_module
    class Annotated:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.multiply(y, y)
                b = R.add(x, a)
                c = R.add(b, a)
                R.output(c)
            return c

    @I.ir_module
    class Cast:
        @R.function
        def main(x: R.Tensor(dtype="float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.multiply(y, y)
                x_known = R.match_cast(x, R.Tensor((2, 3), "float32"))
                b = R.add(x_known, a)
                c = R.add(b, a)
                R.output(c)
            return c

    assert_builds(Annotated)
    assert_builds(Cast)


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
    assert '`x: R.Tensor(("n", "m"), "float32")`' in trouble.help[0]
    assert "`n, m = T.int64(), T.int64()`" in trouble.help[1]
    assert '`x_known = R.match_cast(x, R.Tensor((n, m), "float32"))`' in trouble.help[1]

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
    assert trouble.kind is Kind.NOT_LOWERED
    assert "`R.ewise_fma`" in trouble.title
    assert marked(trouble) == ["R.ewise_fma(x, x, x)"]
    assert trouble.step == "LegalizeOps"
    assert "`R.add(R.multiply(a, b), c)`" in trouble.help[0]
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


def test_what_dead_code_elimination_removes_is_no_trouble() -> None:
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
    assert not trouble.harmless
    assert "Run `relax.transform.DeadCodeElimination()`" in trouble.help[0]
    assert_builds(relax.transform.DeadCodeElimination()(Module))

    found = explain(Module, "cpu_generic")
    trouble = only(found)
    assert (trouble.kind, trouble.harmless) == (Kind.REMOVED, True)
    assert found.built
    assert marked(trouble) == ["R.ewise_fma(x, x, x)"]


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
    assert trouble.kind is Kind.NOT_LOWERED
    assert "the dtype of `x` and of `w` is not known" in trouble.title
    assert trouble.step == "LegalizeOps"
    assert marked(trouble)[1:] == ["x", "w"]
    assert any("LegalizeOps raises" in note for note in trouble.notes)
    assert '`x: R.Tensor((1, 3, 8, 8), "float32")`' in trouble.help[0]
    assert '`w: R.Tensor((4, 3, 3, 3), "float32")`' in trouble.help[0]
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
    assert marked(trouble)[1].startswith('R.call_pure_packed("vm.builtin.copy", x')
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
    assert marked(trouble) == ["R.nn.relu(a)", "cls.callee(x)"]
    assert "`callee` is declared to return" in trouble.notes[1]
    assert trouble.help[0].startswith("Declare more: `-> R.Tensor((")


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
    assert marked(trouble) == ["main"]
    assert "LambdaLift()" in trouble.help[0]
    assert_builds(relax.transform.LambdaLift()(Module))


@I.ir_module
class Prefixed:
    I.module_attrs({"system_lib_prefix": "hello_"})

    @T.prim_func(private=True, s_tir=True)
    def zeros(x: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("zeros"):
                v = T.axis.spatial(2, i)
                x[v] = T.float32(0)

    @R.function
    def main() -> R.Tensor((2,), "float32"):
        cls = Prefixed
        y = R.call_tir(cls.zeros, R.tuple(), R.Tensor((2,), "float32"))
        return y


def test_a_pass_that_leaves_global_vars(builds: Path) -> None:
    found = explain(Prefixed, f"{builds}:leaves_global_vars")
    trouble = next(t for t in found.troubles if "`zeros`" in t.title)
    assert not found.built
    assert trouble.kind is Kind.WRONG_NAME
    assert trouble.title == "`zeros` is called by this name but exported as `hello_zeros`"
    assert (trouble.step, trouble.function) == ("AttachGlobalSymbol", "main")
    assert marked(trouble)[0].startswith("R.call_tir(cls.zeros")
    assert any("`system_lib_prefix` (`hello_`)" in note for note in trouble.notes)
    # TVM's own pass does what is advised.
    assert_builds(Prefixed)


def test_wrong_names_in_a_module_that_is_lowered_already(builds: Path) -> None:
    lowered = walk(Prefixed, f"{builds}:leaves_global_vars", silent).end
    found = explain(lowered, "none")
    trouble = next(t for t in found.troubles if "`zeros`" in t.title)
    assert (trouble.kind, trouble.step) == (Kind.WRONG_NAME, None)
    aligned = walk(Prefixed, "default", silent).end
    assert explain(aligned, "none").troubles == ()


def test_a_call_by_a_name_without_the_prefix() -> None:
    @I.ir_module
    class Module:
        I.module_attrs({"system_lib_prefix": "hello_"})

        @T.prim_func(s_tir=True)
        def zeros(x: T.Buffer((2,), "float32")):
            for i in range(2):
                with T.sblock("zeros"):
                    v = T.axis.spatial(2, i)
                    x[v] = T.float32(0)

        @R.function
        def main() -> R.Tensor((2,), "float32"):
            y = R.call_dps_packed("zeros", R.tuple(), R.Tensor((2,), "float32"))
            return y

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert trouble.kind is Kind.UNKNOWN_NAME
    assert any("`hello_zeros`" in note for note in trouble.notes)
    assert "`cls.zeros`" in trouble.help[0]
    assert '"hello_zeros"' in trouble.help[1]
    assert_builds(Prefixed)


def test_a_function_that_nobody_provides() -> None:
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
    assert trouble.title == "the function `relaxfuzz.test` is not defined anywhere"
    assert trouble.function == "main"
    assert marked(trouble)[0].startswith('R.call_dps_packed("relaxfuzz.test"')
    assert 'register_global_func("relaxfuzz.test")' in trouble.help[0]
    tvm.register_global_func("relaxfuzz.test", lambda x, y: None)
    try:
        assert_builds(Module)
    finally:
        tvm_ffi.registry.remove_global_func("relaxfuzz.test")


@I.ir_module
class Offloaded:
    @R.function(private=True)
    def relu(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"Codegen": "nobody"})

        @R.function
        def inner(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"Composite": "nobody.relu"})
            with R.dataflow():
                z = R.nn.relu(y)
                R.output(z)
            return z

        w = inner(x)
        return w

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Offloaded
        y = cls.relu(x)
        return y


def test_a_function_for_a_compiler_that_is_not_there() -> None:
    assert does_not_build(Offloaded)
    trouble = only(explain(Offloaded))
    assert trouble.kind is Kind.NOT_COMPILED
    assert "`relu` is meant for the compiler `nobody`" in trouble.title
    assert marked(trouble) == ["relu"]
    assert "`relax.ext.nobody`" in trouble.notes[0]
    assert "RunCodegen()" in trouble.help[0]
    assert_builds(Correct)


def test_a_missing_step_is_one_trouble(builds: Path) -> None:
    trouble = only(explain(Correct, f"{builds}:legalizes_nothing"))
    assert trouble.title == "`R.add` is left: no step of this pipeline has lowered it"
    assert "Add `relax.transform.LegalizeOps()`" in trouble.help[0]
    assert "before RewriteDataflowReshape" in trouble.help[0]
    assert any("`y = R.nn.relu(...)`" in note for note in trouble.notes)


def test_a_step_that_raises(builds: Path) -> None:
    trouble = only(explain(Correct, f"{builds}:breaks"))
    assert trouble.kind is Kind.RAISES
    assert trouble.title == "Breaks raises ValueError: the message of a pass"
    assert trouble.step == "Breaks"


def test_the_binding_on_which_a_step_raises() -> None:
    def again(mod: tvm.IRModule) -> tvm.IRModule:
        if calls_of(mod, "relax.nn.relu"):
            raise ValueError("no relu")
        return mod

    traced = Traced(Correct)
    broken = Broken("Breaks", traced.mod, ValueError("no relu"), None, again)
    trouble = breakage.trouble(traced, broken, silent)
    assert trouble.function == "main"
    assert marked(trouble)[0].startswith("R.nn.relu(")


def test_the_function_on_which_a_step_raises_is_a_callee() -> None:
    def again(mod: tvm.IRModule) -> tvm.IRModule:
        if any("Codegen" in (func.attrs or {}) for func in mod.functions.values()):
            raise ValueError("a function with Codegen")
        return mod

    traced = Traced(Offloaded)
    broken = Broken("Breaks", traced.mod, ValueError("a function with Codegen"), None, again)
    assert breakage.trouble(traced, broken, silent).function == "relu"


def test_a_step_that_makes_an_ill_formed_module() -> None:
    def again(mod: tvm.IRModule) -> tvm.IRModule:
        return ill_formed() if calls_of(mod, "relax.nn.relu") else mod

    traced = Traced(Correct)
    broken = Broken("Breaks", traced.mod, None, ill_formed(), again)
    trouble = breakage.trouble(traced, broken, silent)
    assert (trouble.kind, trouble.step) == (Kind.ILL_FORMED, "Breaks")
    assert "Var unbound is not defined" in trouble.notes[0]
    assert marked(trouble)[0].startswith("R.nn.relu(")


def ill_formed() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    unbound = relax.Var("unbound", x.ty)
    value = relax.BlockBuilder().normalize(relax.op.add(x, unbound))
    return module([x], [(relax.Var("y", x.ty), value)])


def test_an_ill_formed_module() -> None:
    found = explain(ill_formed())
    trouble = only(found)
    assert trouble.kind is Kind.ILL_FORMED
    assert found.steps == ()
    assert marked(trouble) == ["R.add(x, unbound)"]
    assert "Var unbound is not defined." in trouble.notes


def test_what_is_not_understood_is_not_explained_away() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def threads(x: T.Buffer((2,), "float32")):
            for i in T.thread_binding(2, thread="blockIdx.x"):
                x[i] = T.float32(0)

    assert does_not_build(Module)
    trouble = only(explain(Module))
    assert trouble.kind is Kind.UNEXPLAINED
    assert trouble.title.startswith("I cannot explain this")
    assert marked(trouble) == ["threads"]


def test_an_unknown_pipeline() -> None:
    with pytest.raises(UnknownPipeline, match="Did you mean 'default'"):
        explain(Correct, "defautl")
