"""Post-conditions and variants of the passes for algebra, layouts, backends and training."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
import tvm
from tvm import relax, te
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles.catalogue import byoc, catalogue, tensorir
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import NormalForm, Relation
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Operators:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        a: R.Tensor((3, 4), "float32"),
        b: R.Tensor((3, 4), "float32"),
    ) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            same = R.reshape(x, (2, 3))
            p = R.matmul(same, a)
            q = R.matmul(same, b)
            s = R.add(p, q)
            e = R.exp(s)
            R.output(e)
        return e


@I.ir_module
class Placed:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm"), y: R.Tensor((), "float32")) -> R.Tensor(
        (), "float32"
    ):
        with R.dataflow():
            s = R.negative(y)
            R.output(s)
        return s


@I.ir_module
class Scalar:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        (), "float32"
    ):
        with R.dataflow():
            p = R.multiply(x, y)
            s = R.sum(p)
            R.output(s)
        return s


@I.ir_module
class Convolution:
    @R.function
    def main(
        x: R.Tensor((1, 4, 6, 6), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")
    ) -> R.Tensor((1, 4, 4, 4), "float32"):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


FUSE = PassCall(
    "FuseOpsByPattern([('dnnl.add', is_op('relax.add')(wildcard(), wildcard()))])",
    imports=("from tvm.relax.dpl import is_op, wildcard",),
)
ANNOTATE = PassCall(FUSE.expr.replace(")])", ")], annotate_codegen=True)"), imports=FUSE.imports)
COMPOSITES = FUSE.run(Operators)
CODEGENS = ANNOTATE.run(Operators)
GENERATE = PassCall(
    "RunCodegen()",
    imports=(
        "import tvm_ffi",
        "tvm_ffi.register_global_func('relax.ext.dnnl', lambda *_: [], override=True)",
    ),
)


def with_prim_func(name: str, operator_name: str | None = None) -> tvm.IRModule:
    """A module that calls one of the elementwise PrimFuncs."""
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    func = eval(tensorir.spell(name, "(2, 3)", "float32"), {"te": te, "tvm": tvm})
    func = func.without_attr("global_symbol")
    if operator_name is not None:
        func = func.with_attr("operator_name", operator_name)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            gvar = builder.add_func(func, name)
            out = builder.emit_output(relax.call_tir(gvar, (x,), x.ty))
        builder.emit_func_output(out)
    return builder.get()


def test_a_prim_func_without_a_root_block_is_no_reshape() -> None:
    @T.prim_func(private=True)
    def copied(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]

    x = relax.Var("x", relax.TensorType((4,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            lv = builder.emit(relax.call_tir(builder.add_func(copied, "copied"), (x,), x.ty))
            out = builder.emit_output(relax.op.negative(lv))
        builder.emit_func_output(out)
    mod = builder.get()
    assert catalogue["RewriteDataflowReshape"].post(mod, mod, SPLIT) is None


SPLIT = PassCall(
    f"SplitCallTIRByPattern([{tensorir.spell('tir_add_one', '(2, 3)', 'float32')}], "
    "lambda matches: ['void f() {}', tvm.tirx.IntImm('int32', 1), "
    "list(matches[0].matched_buffers)[:-1]])",
    imports=tensorir.IMPORTS,
)
REFUSE = PassCall("CombineParallelMatmul(check=lambda *_: False)")


@I.ir_module
class TwoSteps:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((2, 3), "float32"), C: T.Buffer((2, 3), "float32")):
        B = T.sblock_alloc_buffer((2, 3), "float32")
        for i, j in T.grid(2, 3):
            with T.sblock("first"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] + T.float32(1)
        for i, j in T.grid(2, 3):
            with T.sblock("second"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = B[v, w] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = TwoSteps
        return R.call_tir(cls.f, (x,), out_ty=R.Tensor((2, 3), "float32"))


def test_the_rest_of_a_prim_func_may_match_again() -> None:
    case = Case(TwoSteps, (SPLIT,))
    assert check(case, oracles=["idempotent"]) == []
    strict = dataclasses.replace(catalogue[SPLIT.name], normal_form=NormalForm("a test"))
    (violation,) = check(case, oracles=["idempotent"], contract=strict)
    assert violation.key == ("a second run changes the result",)


def test_a_public_prim_func_may_become_code_that_defines_its_symbol() -> None:
    """Docstring: 'generate the code for the matched pattern to replace it with a ExternFunc'."""
    mod = with_prim_func("tir_add_one")
    mod.update_func(
        mod.get_global_var("tir_add_one"),
        mod["tir_add_one"].with_attr("global_symbol", "tir_add_one"),
    )
    assert check(Case(mod, (SPLIT,)), oracles=["functions"]) == []
    codeless = PassCall("codeless()", factory=f"{Path(__file__)}:codeless")
    (violation,) = check(Case(mod, (codeless,)), oracles=["functions"])
    assert violation.title == "a public PrimFunc is lost or renamed"


@I.ir_module
class Given:
    """A function for an external codegen that is a value."""

    @R.function
    def main() -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
        return Given.outside

    @R.function
    def outside(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "dnnl"})
        return x


def test_a_function_with_a_codegen_may_be_a_value() -> None:
    """Docstring: compiled is what is called; nothing is said of those who take it as a value."""
    assert catalogue[GENERATE.name].post(Given, GENERATE.run(Given), GENERATE) is None


@I.ir_module
class Unused:
    """Dead code, which RunCodegen takes away inside."""

    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            _y = R.exp(x)
            z = R.negative(x)
            R.output(z)
        return z


def test_what_changes_a_module_without_a_codegen_is_caught() -> None:
    contract = catalogue[GENERATE.name]
    assert check(Case(Unused, (GENERATE,)), oracles=["postcondition"]) == []
    faulty = PassCall("offloads()", factory=f"{Path(__file__)}:offloads")
    (violation,) = check(Case(Unused, (faulty,)), oracles=["postcondition"], contract=contract)
    assert violation.title == "there is no codegen, and a function has other bindings than before"


def test_a_codegen_needs_a_symbol() -> None:
    nameless = {name: Given[name].without_attr("global_symbol") for name in ("main", "outside")}
    problem = catalogue[GENERATE.name].requires(tvm.IRModule(nameless))
    assert problem == "a function with an annotated codegen has no global symbol (docstring)"


REFUSED = {
    "LegalizeOps()": lambda x: relax.op.image.resize2d(x, (2, 2), layout="CNWH"),
    "FoldConstant()": lambda x: relax.op.nn.conv2d(x, x, dilation=4),
    "Gradient('main')": lambda x: relax.op.sum(relax.op.nn.conv2d(x, x, data_layout="NHWC")),
    "ConvertLayout({})": lambda x: relax.op.nn.max_pool2d(x, out_layout="CNWH2c"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_in_words_is_right(text: str) -> None:
    x = relax.Var("x", relax.TensorType((2, 2, 2, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(REFUSED[text](x))
        builder.emit_func_output(result)
    call = PassCall(text)
    with pytest.raises(Exception, match=r"layout|negative output shape"):
        call.run(builder.get())
    assert check(Case(builder.get(), (call,)), oracles=["crash"]) == []


def test_matmul_of_an_unknown_dtype_is_refused_in_words() -> None:
    dtypes = ("float32", None)
    x, y = (relax.Var(f"x{at}", relax.TensorType((2, 2), dtype)) for at, dtype in enumerate(dtypes))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, y)))
    call = PassCall("LegalizeOps()")
    with pytest.raises(AssertionError, match="the dtype of both operands must be known"):
        call.run(builder.get())
    assert check(Case(builder.get(), (call,)), oracles=["crash"]) == []


def codeless() -> tvm.transform.Pass:
    """Splits, but names a library that nobody gives."""

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = dict(SPLIT.run(mod).functions_items())
        for gvar, func in functions.items():
            if isinstance(func, relax.ExternFunc):
                functions[gvar] = relax.ExternFunc(func.global_symbol)
        return tvm.IRModule(functions)

    return tvm.transform.module_pass(transform, opt_level=0, name="codeless")


def offloads() -> tvm.transform.Pass:
    """Calls a library for every call of an operator, whatever is annotated."""

    @relax.expr_functor.mutator
    class Offloaded(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return relax.op.call_dps_packed("library", (*call.args,), call.ty)

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        return tvm.IRModule(
            {gvar: Offloaded(mod).visit_expr(func) for gvar, func in mod.functions_items()}
        )

    return tvm.transform.module_pass(transform, opt_level=0, name="offloads")


def changed_attribute(mod: tvm.IRModule, codegen: str) -> tvm.IRModule:
    """The module with another Codegen attribute on its offloaded functions."""
    changed = {}
    for gvar, func in mod.functions_items():
        if func.attrs is not None and "Codegen" in func.attrs:
            func = func.with_attr("Codegen", codegen)
        changed[gvar] = func
    return tvm.IRModule(changed)


def wrapped(mod: tvm.IRModule) -> tvm.IRModule:
    """The module with all Composite functions offloaded without anything inside."""
    changed = {}
    for gvar, func in mod.functions_items():
        if func.attrs is not None and "Composite" in func.attrs:
            func = func.without_attr("Composite").with_attr("Codegen", "dnnl")
            func = func.with_attr("global_symbol", gvar.name_hint)
        changed[gvar] = func
    return tvm.IRModule(changed)


FAULTS = [
    (
        REFUSE,
        Operators,
        PassCall("CombineParallelMatmul()").run(Operators),
        "although check refuses",
    ),
    (PassCall("FastMathTransform()"), Operators, Operators, "relax.exp is left"),
    (PassCall("RemoveRedundantReshape()"), Operators, Operators, "a reshape to the same shape"),
    (FUSE, Operators, wrapped(COMPOSITES), "no attribute Composite"),
    (ANNOTATE, Operators, COMPOSITES, "lacks the attribute Codegen"),
    (ANNOTATE, Operators, wrapped(COMPOSITES), "calls relax.add, no Composite function"),
    (ANNOTATE, Operators, changed_attribute(CODEGENS, "cutlass"), "of another codegen"),
    (PassCall("MergeCompositeFunctions()"), COMPOSITES, COMPOSITES, "outside of all Codegen"),
    (GENERATE, CODEGENS, CODEGENS, "is still called"),
    (GENERATE, Operators, Operators.with_attr("external_mods", []), "gets an attribute"),
    (GENERATE, Operators, COMPOSITES, "a function is new"),
    (GENERATE, Operators, tvm.IRModule({"main": Scalar["main"]}), "other bindings than before"),
    (PassCall("Gradient('main')"), Scalar, Scalar, "there is no adjoint function"),
    (
        PassCall("Gradient('main')"),
        Scalar,
        tvm.IRModule({"main": Scalar["main"], "main_adjoint": Scalar["main"]}),
        "has not the promised type",
    ),
    (
        PassCall("Gradient('main')"),
        Scalar,
        tvm.IRModule({"main": Operators["main"], "main_adjoint": Scalar["main"]}),
        "a function other than the adjoint one changed",
    ),
    (
        PassCall("ToMixedPrecision(fp16_input_names=['x'])"),
        Operators,
        Operators,
        "a parameter of fp16_input_names is not float16",
    ),
    (
        PassCall("ToMixedPrecision()"),
        Operators,
        PassCall("ToMixedPrecision(fp16_input_names=['x'])").run(Operators),
        "that is not of fp16_input_names changed",
    ),
    (
        PassCall(f"SplitCallTIRByPattern([], lambda matches: {byoc.NOTHING_MATCHED})"),
        with_prim_func("tir_add_one"),
        SPLIT.run(with_prim_func("tir_add_one")),
        "a library is called",
    ),
]


@pytest.mark.parametrize(
    ("call", "before", "after", "problem"), FAULTS, ids=lambda value: getattr(value, "name", "")
)
def test_a_broken_result_is_noticed(
    call: PassCall, before: tvm.IRModule, after: tvm.IRModule, problem: str
) -> None:
    found = catalogue[call.name].post(before, after, call)
    assert found is not None
    assert problem in found


RIGHT = [
    (REFUSE, Operators),
    (PassCall("FastMathTransform()"), Operators),
    (PassCall("RemoveRedundantReshape()"), Operators),
    (FUSE, Operators),
    (ANNOTATE, Operators),
    (PassCall("MergeCompositeFunctions()"), COMPOSITES),
    (GENERATE, CODEGENS),
    (GENERATE, Operators),
    (GENERATE, COMPOSITES),
    (GENERATE, Unused),
    (PassCall("Gradient('main')"), Scalar),
    (PassCall("Gradient('main')"), Placed),
    (PassCall("ToMixedPrecision()"), Operators),
    (PassCall("ToMixedPrecision(fp16_input_names=['x'])"), Operators),
    (SPLIT, with_prim_func("tir_add_one")),
]


@pytest.mark.parametrize(("call", "mod"), RIGHT, ids=lambda value: getattr(value, "name", ""))
def test_the_pass_keeps_its_promise(call: PassCall, mod: tvm.IRModule) -> None:
    contract = catalogue[call.name]
    assert contract.requires(mod) is None
    assert contract.post(mod, call.run(mod), call) is None


def test_layouts_are_chosen_for_the_operators_at_hand() -> None:
    variants = catalogue["ConvertLayout"].variants
    assert str(variants(Choices(b""), Convolution)) == (
        "ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI']})"
    )
    source = random.Random(0)
    calls = [variants(Choices(source.randbytes(8)), Convolution) for _ in range(30)]
    assert len(set(calls)) >= 6
    for call in dict.fromkeys(calls):
        assert call is not None
        assert call.build() is not None
    plain = variants(Choices(b""), Convolution)
    assert plain is not None
    assert "NHWC" in plain.run(Convolution).script()


def test_another_implementation_is_offered_for_a_known_operator() -> None:
    variants = catalogue["AlterOpImpl"].variants
    mod = with_prim_func("tir_square", "relax.tir_square")
    source = random.Random(0)
    for _ in range(10):
        call = variants(Choices(source.randbytes(8)), mod)
        assert call is not None
        names = [gvar.name_hint for gvar in call.run(mod).get_global_vars()]
        assert any("replacement" in name for name in names) or "tir_square" in names
    assert variants(Choices(b""), Operators) is None


@pytest.mark.parametrize("name", [None, "relax.unknown"])
def test_a_kernel_gets_the_layouts_that_tvm_suggests(name: str | None) -> None:
    mod = with_prim_func("tir_square", name)
    before = mod.script()
    call = catalogue["AlterOpImpl"].variants(Choices(b""), mod)
    assert call is not None
    assert call.name == "AlterOpImpl"
    after = call.run(mod)
    assert "layout_transform" in after["main"].script()
    assert mod.script() == before
    oracles = ("crash", "well-formed", "sequential", "evaluated")
    assert list(check(Case(mod, (call,)), oracles=oracles)) == []


def test_gradients_are_asked_of_scalars_only() -> None:
    variants = catalogue["Gradient"].variants
    assert str(variants(Choices(b""), Scalar)) == "Gradient('main')"
    assert variants(Choices(b""), Operators) is None


def test_patterns_are_of_operators_that_the_module_calls() -> None:
    variants = catalogue["FuseOpsByPattern"].variants
    source = random.Random(0)
    for _ in range(20):
        call = variants(Choices(source.randbytes(16)), Convolution)
        assert call is not None
        assert "conv2d" in call.expr or "relu" in call.expr
        assert catalogue["FuseOpsByPattern"].post(Convolution, call.run(Convolution), call) is None


def test_mixed_precision_wants_a_module_of_float32() -> None:
    contract = catalogue["ToMixedPrecision"]
    assert contract.relation is Relation.LOOSE
    half = PassCall("ToMixedPrecision(fp16_input_names=['x'])").run(Operators)
    assert "not fp32 only" in (contract.requires(half) or "")
    source = random.Random(0)
    texts = [str(contract.choose(Choices(source.randbytes(8)), Operators)) for _ in range(40)]
    assert any("fp16_input_names=" in text for text in texts)
    assert not all("fp16_input_names=" in text for text in texts)
