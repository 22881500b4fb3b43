"""Pipelines step by step: the user's own, and that of TVM for kernels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax, te, tirx
from tvm.relax import op

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.checking import check_module
from relaxfuzz.fuzz.user_input.settings import Settings

from ...swapping_pass import SWAP

PIPELINE = f"""{SWAP}

def pipeline():
    steps = [relax.transform.CanonicalizeBindings(), swap, relax.transform.LegalizeOps()]
    return tvm.transform.Sequential(steps)
"""


SUBTRACTS = """
@relax.expr_functor.mutator
class _Subtract(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        return relax.op.subtract(*call.args) if call.op == tvm.ir.Op.get("relax.add") else call


@tvm.transform.module_pass(opt_level=0, name="subtracts")
def subtracts(mod, context):
    mutator = _Subtract(mod)
    for gvar, func in mod.functions_items():
        mutator.builder_.update_func(gvar, mutator.visit_expr(func))
    return mutator.builder_.get()
"""

RAISES = """
import tvm


@tvm.transform.module_pass(opt_level=0, name="raises")
def raises(mod, context):
    raise KeyError("always")
"""


def of_two(operator: Callable[[relax.Expr, relax.Expr], relax.Expr]) -> str:
    """A module that applies an operator, as TVM JSON."""
    x, y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(operator(x, y)))
    return str(save_json(builder.get()))


def events(capsys: pytest.CaptureFixture[str], kind: str) -> list[dict[str, object]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [each for each in found if each["event"] == kind]


@pytest.mark.session
def test_the_wrong_step_of_ones_own_pipeline_is_named(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.json").write_text(of_two(op.subtract))
    (tmp_path / "build.py").write_text(PIPELINE)
    code = check_module(
        tmp_path / "model.json",
        Settings(out=tmp_path / "out", budget="10m", json=True),
        pool=pool,
        pipeline=f"{tmp_path / 'build.py'}:pipeline",
    )
    assert code == 1
    found = {(each["pass"], each["oracle"]) for each in events(capsys, "finding")}
    assert ("SwapSubtract", "evaluated") in found
    assert {each for each, _ in found} <= {
        "SwapSubtract",
        "pipeline (a combination of operators)",
    }


def test_kernels_are_checked_at_each_stage_of_their_pipeline(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = te.placeholder((8,), "float32", "a")
    b = te.compute((8,), lambda i: a[i] + tirx.const(1.0, "float32"), "b")
    path = tmp_path / "kernel.json"
    path.write_text(save_json(tvm.IRModule({"main": te.create_prim_func([a, b])})))
    given = Settings(out=tmp_path / "out", budget="10m", json=True, oracles=("crash", "evaluated"))
    assert check_module(path, given, pool=pool) == 0
    asked = events(capsys, "asked")
    compared = {str(each["pass"]) for each in asked if each["reason"] is None}
    for late in ("s_tir.transform.LowerOpaqueBlock()", "tirx.transform.FlattenBuffer()"):
        assert late in compared


def kernel_of(operator: Callable[..., tirx.Expr], arity: int = 1) -> str:
    """A PrimFunc that applies an operator to each element, as TVM JSON."""
    given = [te.placeholder((8,), "float32", f"a{n}") for n in range(arity)]
    made = te.compute((8,), lambda i: operator(*(each[i] for each in given)), "b")
    return str(save_json(tvm.IRModule({"main": te.create_prim_func([*given, made])})))


@pytest.mark.session
@pytest.mark.parametrize("passes", [(), ("tirx.StmtSimplify",)])
def test_kernels_that_do_not_build_are_reported(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str], passes: tuple[str, ...]
) -> None:
    """All passes are right, and the code generator of LLVM does not know the remainder."""
    path = tmp_path / "kernel.json"
    path.write_text(kernel_of(tirx.fmod, 2))
    given = Settings(
        passes=passes, out=tmp_path / "out", budget="10m", json=True, shipped_knowns=False
    )
    assert check_module(path, given, pool=pool) == 1
    (found,) = events(capsys, "finding")
    assert (found["pass"], found["oracle"]) == ("tirx.build for llvm", "executed-on-llvm")


def test_kernels_that_do_not_build_by_a_known_bug_fail_the_command(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.json"
    path.write_text(kernel_of(tirx.fmod, 2))
    given = Settings(out=tmp_path / "out", budget="10m", json=True)
    assert check_module(path, given, pool=pool) == 1
    (unbuilt,) = events(capsys, "unbuilt")
    assert "unknown intrinsic" in str(unbuilt["title"])


def test_a_named_pass_of_the_kernels_build_is_checked_where_the_build_runs_it(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.json"
    path.write_text(kernel_of(tirx.tanh))
    given = Settings(
        passes=("tirx.LowerIntrin",),
        out=tmp_path / "out",
        budget="10m",
        json=True,
        oracles=("crash", "evaluated"),
    )
    check_module(path, given, pool=pool)
    asked = events(capsys, "asked")
    compared = {(each["pass"], each["oracle"]) for each in asked if each["reason"] is None}
    assert ("tirx.transform.LowerIntrin()", "evaluated") in compared


@pytest.mark.session
def test_a_named_pass_is_checked_on_the_result_of_those_before_it(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The swap does nothing to the module itself."""
    (tmp_path / "model.json").write_text(of_two(op.add))
    (tmp_path / "passes.py").write_text(f"{SWAP}\n{SUBTRACTS}")
    first, second = (f"{tmp_path / 'passes.py'}:{name}" for name in ("subtracts", "swap"))
    for passes, blamed in (
        ((first, second), {"subtracts", "swap"}),
        ((second, first), {"subtracts"}),
    ):
        given = Settings(
            passes=passes, out=tmp_path / "out", budget="10m", json=True, oracles=("evaluated",)
        )
        assert check_module(tmp_path / "model.json", given, pool=pool) == 1
        assert {each["pass"] for each in events(capsys, "finding")} == blamed


def test_passes_behind_one_that_raises_are_named(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.json").write_text(of_two(op.add))
    (tmp_path / "passes.py").write_text(RAISES)
    passes = (f"{tmp_path / 'passes.py'}:raises", "LegalizeOps")
    given = Settings(
        passes=passes, out=tmp_path / "out", budget="10m", json=True, oracles=("crash",)
    )
    assert check_module(tmp_path / "model.json", given, pool=pool) == 1
    reasons = {each["pass"]: each["reason"] for each in events(capsys, "asked")}
    assert reasons["LegalizeOps() after those named before it"] == "one of them raises"
