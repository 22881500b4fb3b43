"""TVM's pipelines for GPUs as passes: their steps, who is blamed, and the values of kernels."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators import stages
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.prim_funcs.kernels import TARGETS
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.gpu_pipelines import RELAX, TIRX, device_of, target_text
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.composition import at_step
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.pipelines import names_of_steps
from relaxfuzz.oracles.values import evaluated
from relaxfuzz.oracles.violation import Case

FOUND = Path(__file__).parents[3] / "corpus" / "found"
VALUES = (evaluated.ORACLE.name, "sanitized")


@I.ir_module
class Softmax:
    @R.function
    def main(x: R.Tensor((4, 33), "float32"), y: R.Tensor((33,), "float32")) -> R.Tensor(
        (4, 33), "float32"
    ):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.softmax(a)
            R.output(b)
        return b


LOWERED = [name for name in TARGETS if name != "adreno"]
"""That for Adreno cannot be used: corpus/found/adreno-tirx-pipeline.toml."""


def scheduled(kind: str) -> tvm.IRModule:
    target = tvm.target.Target(TARGETS[kind], host="llvm")
    legal = tvm.relax.transform.LegalizeOps()(Softmax)
    kernels = {g: f for g, f in legal.functions_items() if isinstance(f, tvm.tirx.PrimFunc)}
    kernels = {g: f.with_attr("global_symbol", g.name_hint) for g, f in kernels.items()}
    bound = tvm.tirx.transform.BindTarget(target)(tvm.IRModule(kernels))
    return stages.step(bound, *stages.DEVICE[Stage.SCHEDULED])


def variants(name: str, mod: tvm.IRModule) -> dict[str, PassCall]:
    """The variants of a pipeline for a module, by their texts."""
    made = (catalogue[name].choose(Choices(bytes([n]) * 64), mod) for n in range(256))
    return {call.expr: call for call in made if call is not None}


@pytest.mark.parametrize("kind", TARGETS)
def test_steps_of_relax_do_what_the_pipeline_does(kind: str) -> None:
    call = next(c for text, c in variants(RELAX, Softmax).items() if target_text(kind) in text)
    assert call.name == RELAX
    mod = Softmax
    steps = catalogue[RELAX].steps
    assert steps is not None
    assert len(steps(call)) == len(names_of_steps(call.build()))
    for step in steps(call):
        mod = step.run(mod)
    assert tvm_ffi.structural_equal(mod, call.run(Softmax), map_free_vars=True)


@pytest.mark.parametrize("kind", LOWERED)
def test_steps_of_lowering_do_what_the_pipeline_does(kind: str) -> None:
    given = scheduled(kind)
    until = next(c for text, c in variants(TIRX, given).items() if text.startswith("until"))
    mod = given
    steps = catalogue[TIRX].steps
    assert steps is not None
    for step in steps(until):
        mod = step.run(mod)
    assert until.name == TIRX
    assert tvm_ffi.structural_equal(mod, until.run(given), map_free_vars=True)


@pytest.mark.parametrize("kind", LOWERED)
def test_right_kernels_are_silent(kind: str) -> None:
    given = scheduled(kind)
    assert device_of(given) == kind
    for call in variants(TIRX, given).values():
        assert check(Case(given, (call,)), besides=VALUES) == []


def test_a_build_of_relax_is_silent() -> None:
    for call in variants(RELAX, Softmax).values():
        assert check(Case(Softmax, (call,)), besides=VALUES) == []


FAULT = """
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


@mutator
class Subtracts(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        return relax.op.subtract(*call.args) if call.op.name == "relax.add" else call


@tvm.transform.module_pass(opt_level=0)
def subtracts(mod, context):
    rewriter = Subtracts(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()


def pipeline():
    return tvm.transform.Sequential([relax.transform.ToNonDataflow(), subtracts])
"""


def test_the_step_that_is_wrong_is_blamed(tmp_path: Path) -> None:
    file = tmp_path / "passes.py"
    file.write_text(FAULT)
    call = PassCall("pipeline()", factory=f"{file}:pipeline")
    wrong = PassCall("subtracts()", factory=f"{file}:subtracts")
    contract = PassContract(
        name="pipeline",
        variants=lambda choices, mod: call,
        steps=lambda call: (PassCall("ToNonDataflow()"), wrong),
    )
    found = check(Case(Softmax, (call,)), besides=VALUES, contract=contract)
    assert [(each.oracle, each.pass_name) for each in found] == [("evaluated", "subtracts")]
    # It is the pipeline's own fault where each step by itself is right.
    alone = PassContract(name="pipeline", variants=lambda choices, mod: call, steps=lambda call: ())
    assert at_step(evaluated.ORACLE, PassRuns(Softmax, (call,), alone)) is None


def test_a_step_is_blamed_of_a_pipeline_behind_other_passes() -> None:
    """A kernel of two readers of a reduction, which Fallback breaks."""
    mod = load("dlight-fallback-reduction-read-twice")
    pipeline = catalogue[RELAX].choose(Choices(bytes(64)), mod)
    assert pipeline is not None
    found = check(Case(mod, (PassCall("tirx.transform.RemoveNoOp()"), pipeline)))
    assert [(each.oracle, each.pass_name) for each in found] == [
        ("well-formed", "dlight.ApplyDefaultSchedule")
    ]


def test_what_a_step_may_refuse_the_pipeline_may() -> None:
    @I.ir_module
    class Local:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            @R.function
            def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.exp(y)

            return inner(x)

    call = catalogue[RELAX].choose(Choices(bytes(64)), Local)
    assert call is not None
    with pytest.raises(Exception, match="VMShapeLower do not work for local functions"):
        call.run(Local)
    assert check(Case(Local, (call,))) == []


def load(name: str) -> tvm.IRModule:
    """The module of a reproducer."""
    mod = runpy.run_path(str(FOUND / f"{name}.py"))["mod"]
    assert isinstance(mod, tvm.IRModule)
    return mod
