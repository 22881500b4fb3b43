"""A result that makes the module's calls on the same values is proved to compute the same."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.pass_runs import run_alone
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers, asking
from relaxfuzz.oracles.values import evaluated
from relaxfuzz.oracles.values.same_calls import SameCalls


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 3), "float32"), R.Tensor((3, 2), "float32")
    ):
        with R.dataflow():
            a = R.subtract(x, y)
            b = R.subtract(x, y)
            _ = R.exp(x)
            pair = R.tuple(a, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
            c = R.multiply(pair[0], pair[1])
            d = R.match_cast(R.add(b, c), R.Tensor((2, 3), "float32"))
            e = R.permute_dims(d, axes=[1, 0])
            out = (d, e)
            R.output(out)
        return out


KEEP_CALLS = (
    "ToNonDataflow()",
    "TopologicalSort(order='depth-first', direction='from-outputs')",
    "EliminateCommonSubexpr()",
    "DeadCodeElimination()",
    "CanonicalizeBindings()",
    "FuseOpsByPattern([('x.add', relax.dpl.is_op('relax.add')(relax.dpl.wildcard(), "
    "relax.dpl.wildcard()))])",
)


@pytest.mark.parametrize("call", KEEP_CALLS, ids=lambda call: call.partition("(")[0])
def test_passes_that_keep_the_calls_need_no_evaluation(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = run_alone(Model, PassCall(call))
    ours = runs.given.expectations.all()
    assert ours
    assert runs.direct.mod is not None
    monkeypatch.setattr(Evaluator, "run", lambda *_: pytest.fail("evaluated"))
    assert SameCalls(Model, "main").made_by(runs.direct.mod, "main")


def rewritten(change: str) -> tvm.IRModule:
    """The model, changed in one place."""
    x, y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")
    builder = relax.BlockBuilder()
    operator = relax.op.divide if change == "operator" else relax.op.subtract
    with builder.function("main", [x, y]):
        a = builder.emit(operator(*((y, x) if change == "operands" else (x, y))))
        if change == "cast":
            a = builder.match_cast(a, relax.TensorType((2, 3), "float32"))
        axes = [0, 1] if change == "attributes" else [1, 0]
        e = builder.emit(relax.op.permute_dims(a, axes))
        fields = (e, a) if change == "outputs" else (a, e)
        builder.emit_func_output(relax.Tuple(fields))
    return builder.get()


PLAIN = rewritten("")


@pytest.mark.parametrize("change", ["operator", "operands", "attributes", "outputs", "cast"])
def test_each_difference_counts(change: str) -> None:
    numbered = SameCalls(PLAIN, "main")
    assert numbered.made_by(rewritten(""), "main")
    assert not numbered.made_by(rewritten(change), "main")


def test_a_function_that_is_gone_or_has_other_parameters() -> None:
    numbered = SameCalls(PLAIN, "main")
    assert not numbered.made_by(tvm.IRModule(), "main")
    assert not numbered.made_by(tvm.IRModule({"main": PLAIN["main"].with_attr("a", 1)}), "other")


def twice(*, joined: bool, other: float = 2.0) -> tvm.IRModule:
    """Two sums with equal constants, or one sum that is returned twice."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        first = builder.emit(relax.op.add(x, relax.const([1.0, 2.0])))
        second = first if joined else builder.emit(relax.op.add(x, relax.const([1.0, other])))
        builder.emit_func_output(relax.Tuple([first, second]))
    return builder.get()


def test_equal_constants_are_one_value() -> None:
    assert SameCalls(twice(joined=False), "main").made_by(twice(joined=True), "main")
    assert not SameCalls(twice(joined=False, other=3.0), "main").made_by(twice(joined=True), "main")


def test_impure_calls_have_no_number() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x], pure=False):
        builder.emit(relax.op.print(x, format="{}"))
        builder.emit_func_output(x)
    mod = builder.get()
    assert not SameCalls(mod, "main").made_by(mod, "main")


def test_the_oracle_has_compared_what_was_proved() -> None:
    runs = run_alone(Model, PassCall("ToNonDataflow()"))
    with answers() as given:
        asking("evaluated")
        assert not list(evaluated.ORACLE.violations(runs))
    assert given["evaluated"].silent is None
    assert runs.same_calls == {"main": True}
