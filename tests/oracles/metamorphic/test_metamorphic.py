"""Conformance of the metamorphic oracles: each catches its faults, and is silent otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.metamorphic import oracles, scripted
from relaxfuzz.oracles.oracle import Oracle
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("twin_faults.py")


faults = load_faults(FILE)


def case(factory: str) -> Case:
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return Case(faults.module(), (call,))


FAULTY = [
    pytest.param(oracle, factory.__name__, id=f"{oracle}-{factory.__name__}")
    for oracle, factories in faults.FAULTS.items()
    for factory in factories
]


@pytest.mark.parametrize(("oracle", "factory"), FAULTY)
def test_the_fault_is_caught_and_only_by_its_oracle(oracle: str, factory: str) -> None:
    names = [other.name for other in oracles.ORACLES]
    found = [v for name in names for v in check(case(factory), oracles=[name])]
    blamed = "TVMScript" if oracle == "tvmscript" else factory
    assert [(v.oracle, v.pass_name) for v in found] == [(oracle, blamed)]
    assert found[0].title
    assert found[0].detail
    assert found[0].key


@pytest.mark.parametrize("oracle", oracles.ORACLES, ids=lambda oracle: oracle.name)
@pytest.mark.parametrize("factory", [factory.__name__ for factory in faults.CORRECT])
def test_a_correct_pass_is_left_alone(oracle: Oracle, factory: str) -> None:
    assert check(case(factory), oracles=[oracle.name]) == []


@pytest.mark.parametrize(("oracle", "factory"), FAULTY)
def test_the_snippet_fails_on_the_fault(oracle: str, factory: str) -> None:
    with pytest.raises((AssertionError, ValueError, tvm.error.DiagnosticError)):
        run_snippet(oracle, case(factory))


def test_the_parser_may_refuse_a_module_whose_types_are_stale_already() -> None:
    """LegalizeOps leaves it so where the result of a private function gets another dtype."""
    functions = dict(faults.module().functions_items())
    (helper,) = (gvar for gvar in functions if gvar.name_hint == "helper")
    x, block = relax.Var("x", relax.TensorType((6,), "float32")), relax.BlockBuilder()
    with block.function("helper", [x], private=True):
        block.emit_func_output(block.emit(relax.op.astype(x, "float16")))
    functions[helper] = block.get()["helper"]
    stale = Case(tvm.IRModule(functions), case("marks_all").calls)
    assert check(stale, oracles=["tvmscript"]) == []


def test_the_parser_may_put_stale_types_right() -> None:
    """A pass leaves them so: a variable has the old type of the function that it names."""
    x, device = relax.Var("x", relax.TensorType((6,), "float32")), ir.VDevice("llvm")
    stale, block = relax.BlockBuilder(), relax.BlockBuilder()
    for builder, made in ((stale, x), (block, relax.op.to_vdevice(x, device))):
        with builder.function("helper", [x], private=True):
            builder.emit_func_output(builder.emit(made))
    with stale.function("main", []):
        with stale.dataflow():
            stale.emit(stale.get().get_global_var("helper"))
            out = stale.emit_output(relax.Tuple([]))
        stale.emit_func_output(out)
    mod = stale.get()
    mod.update_global_info("vdevice", [device])
    mod[mod.get_global_var("helper")] = block.get()["helper"]
    assert check(Case(mod, (PassCall("ToNonDataflow()"),)), oracles=["tvmscript"]) == []


@I.ir_module
class OutputInType:
    """The parser refuses it once both bindings are outputs of one dataflow block."""

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        shape: R.Shape([2, 2]) = R.shape([2, 2])
        made: R.Tensor(shape, "float32") = R.broadcast_to(x, shape)
        cast: R.Tensor((2, 2), "float32") = R.match_cast(made, R.Tensor((2, 2), "float32"))
        return (made, cast)


@I.ir_module
class Reference:
    """BundleModelParams gives helper another type, and leaves that of the variable."""

    @R.function(private=True)
    def helper(w: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 0})
        return w

    @R.function
    def main():
        cls = Reference
        func = cls.helper
        return func  # noqa: RET504  # the variable has a type


@pytest.mark.parametrize(
    ("mod", "call", "blamed"),
    [
        (OutputInType, "ConvertToDataflow(min_size=3)", "TVMScript"),
        (Reference, "BundleModelParams(param_tuple_name='params')", "BundleModelParams"),
    ],
)
def test_a_pass_is_blamed_for_what_the_parser_refuses_where_types_are_wrong(
    mod: tvm.IRModule, call: str, blamed: str
) -> None:
    (violation,) = check(Case(mod, (PassCall(call),)), oracles=["tvmscript"])
    assert violation.pass_name == blamed


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor((3,), "float32"):
        cast = R.match_cast(x, R.Tensor((3,), "float32"))
        return cast  # noqa: RET504  # a match_cast is no expression


@I.ir_module
class EyeCast:
    """LegalizeOps gives eye_like the dtype of its operand."""

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor("float64", ndim=2):
        eye = R.eye_like(x, dtype="float64")
        cast = R.match_cast(eye, R.Tensor("float64", ndim=2))
        return cast  # noqa: RET504  # a match_cast is no expression


def test_the_pass_is_blamed_for_a_match_cast_whose_value_it_gives_another_type() -> None:
    legalize = Case(EyeCast, (PassCall("LegalizeOps()"),))
    (violation,) = check(legalize, oracles=["tvmscript"])
    assert violation.pass_name == "LegalizeOps"
    assert "impossible to match cast" in violation.title


def test_nothing_is_promised_for_what_no_pass_has_made_impossible() -> None:
    legalized = relax.transform.LegalizeOps()(EyeCast)
    assert scripted.impossible_casts(legalized)
    calls = (PassCall("ConvertToDataflow(min_size=1)"),)
    assert check(Case(legalized, calls), oracles=["tvmscript"]) == []


def test_a_pass_may_find_out_that_a_match_cast_fails() -> None:
    binds = PassCall("BindSymbolicVars({'n': 2})")
    assert scripted.impossible_casts(relax.transform.BindSymbolicVars({"n": 2})(Cast))
    assert check(Case(Cast, (binds,)), oracles=["tvmscript"]) == []


def test_the_script_form_of_a_possible_match_cast_may_fail() -> None:
    call = PassCall("leaves_a_bare_range()", factory=f"{FILE}:leaves_a_bare_range")
    (violation,) = check(Case(Cast, (call,)), oracles=["tvmscript"])
    assert violation.pass_name == "TVMScript"


@I.ir_module
class Blocks:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32")):
        B = T.sblock_alloc_buffer((4,), "float32")
        for i in range(4):
            with T.sblock("zero"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.negative(x)


def test_the_parser_may_refuse_blocks_in_a_kernel_of_another_dialect() -> None:
    takes_it = PassCall("tirx.transform.Apply(lambda func: func.without_attr('s_tir'))")
    (violation,) = check(Case(Blocks, (takes_it,)), oracles=["tvmscript"])
    assert "only for s_tir PrimFuncs" in violation.title
    legalize = PassCall("LegalizeOps()")
    assert check(Case(Blocks, (legalize,)), oracles=["tvmscript"]) == []
    without = tvm.tirx.transform.Apply(lambda func: func.without_attr("s_tir"))(Blocks)
    assert check(Case(without, (legalize,)), oracles=["tvmscript"]) == []


def test_source_that_differs_is_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = relax.BlockBuilder().get()
    monkeypatch.setattr(oracles, "from_source", lambda text: empty)
    with pytest.raises(oracles.SourceFault, match="differs"):
        check(case("marks_all"), oracles=["source"])


def prints_a_call_of(op: str) -> tvm.IRModule:
    call = tvm.ir.Call(op, [], ret_ty=tvm.ir.PrimType("int32"))
    func = tvm.tirx.PrimFunc([], ir.Evaluate(call)).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": func})


@pytest.mark.parametrize(
    "op",
    [
        "tirx.dma_start_group",
        "tirx.texture2d_load",  # a name with a number
        "tirx.TVMBackendAnyListSetPackedArg",  # without a name for scripts
    ],
)
def test_an_operator_without_a_function_is_one_key_whatever_its_name(op: str) -> None:
    unchanged = PassCall("tirx.transform.Apply(lambda func: func.with_attr('mark', 1))")
    (violation,) = check(Case(prints_a_call_of(op), (unchanged,)), oracles=["tvmscript"])
    assert violation.key == (scripted.NO_FUNCTION,)
    assert op.rpartition(".")[2] in violation.detail


def test_a_cast_that_is_read_as_its_value_is_one_bug_whatever_the_value_is() -> None:
    def differs(value: relax.Expr) -> tuple[str, ...]:
        casts, x = [], relax.Var("x", relax.TensorType((2,), "float32"))
        var = relax.Var("y", relax.TensorType((2,), "float32"))
        for binding in (relax.MatchCast(var, value, var.ty), relax.VarBinding(var, value)):
            body = relax.SeqExpr([relax.BindingBlock([binding])], var)
            casts.append(tvm.IRModule({"main": relax.Function([x], body, var.ty)}))
        found = scripted.difference(*casts)
        assert found is not None
        return found.key

    ty = relax.TensorType((2,), "float32")
    extern = relax.op.call_pure_packed("f", ty_args=[ty])
    assert differs(extern) == differs(relax.const([1.0, 2.0], "float32"))
