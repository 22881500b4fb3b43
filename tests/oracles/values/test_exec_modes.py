"""The two exec modes against each other."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute import execute
from relaxfuzz.oracles.values import pipeline_values
from relaxfuzz.oracles.violation import Case

from ..snippets import run_snippet


@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.add(x, x)


@I.ir_module
class Unbuilt:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.ewise_fma(x, x, x)


@I.ir_module
class Zero:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.subtract(x, x)


@I.ir_module
class Partly:
    """The second element of the result is memory that nobody has written to."""

    @T.prim_func(private=True)
    def first(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
        y[0] = x[0]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.call_tir(Partly.first, (x,), out_ty=R.Tensor((2,), "float32"))


@I.ir_module
class Same:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.concat([R.strided_slice(x, [0], [0], [1]), R.const([0.75], "float32")])


def case(pipeline: str = "default") -> Case:
    # A new one: what a module gives in the VM is found out once.
    return Case(tvm.IRModule(Sum.functions), pipeline=pipeline)


@pytest.mark.parametrize("pipeline", ["default", "cpu_generic"])
def test_equal_modes_are_left_alone(pipeline: str) -> None:
    assert check(case(pipeline), oracles=["exec-modes"]) == []
    run_snippet("exec-modes", case(pipeline))


@pytest.mark.parametrize(
    ("other", "key"),
    [
        (Zero, ("values",)),
        (tvm.IRModule({}), ("only the exec mode 'compiled' fails (run)", "AttributeError")),
    ],
)
def test_modes_that_differ_are_reported(
    other: tvm.IRModule, key: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(mod: tvm.IRModule, plans: Any, pipeline: str, mode: str) -> Any:
        return execute(other if mode == "compiled" else mod, plans, pipeline, mode)

    monkeypatch.setattr(pipeline_values, "execute", wrong)
    (violation,) = check(case(), oracles=["exec-modes"])
    assert (violation.oracle, violation.pass_name) == ("exec-modes", "relax.build")
    assert violation.key == key


def test_modes_may_differ_in_memory_that_nobody_has_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def other(mod: tvm.IRModule, plans: Any, pipeline: str, mode: str) -> Any:
        compared.append(mode)
        return execute(Same if mode == "compiled" else mod, plans, pipeline, mode)

    monkeypatch.setattr(pipeline_values, "execute", other)
    module = tvm.IRModule(Partly.functions)
    assert check(Case(module, pipeline="default"), oracles=["exec-modes"]) == []
    assert compared == ["bytecode", "compiled"]


def test_a_module_is_executed_once_for_both_oracles(monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[str] = []

    def counted(mod: tvm.IRModule, plans: Any, pipeline: str, mode: str) -> Any:
        modes.append(mode)
        return execute(mod, plans, pipeline, mode)

    monkeypatch.setattr(pipeline_values, "execute", counted)
    assert check(case(), oracles=["executed-by-pipeline", "exec-modes"]) == []
    assert modes == ["bytecode", "compiled"]


def test_what_neither_mode_can_build_is_left_alone() -> None:
    assert check(Case(Unbuilt, pipeline="default"), oracles=["exec-modes"]) == []


@pytest.mark.parametrize("pipeline", ["zero", "default", "cpu_generic"])
@pytest.mark.parametrize("oracle", ["exec-modes", "executed-by-pipeline"])
def test_snippets_lift_local_functions(oracle: str, pipeline: str) -> None:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((2,), "float32")) for name in "xy")
    inner = relax.Function([y], relax.SeqExpr([], y), relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        local = builder.emit(builder.normalize(inner))
        builder.emit_func_output(builder.emit(relax.Call(local, [x])))
    run_snippet(oracle, Case(builder.get(), pipeline=pipeline))
