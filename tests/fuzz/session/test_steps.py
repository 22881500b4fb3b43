"""Pipelines step by step: the user's own, and that of TVM for kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tvm
from tvm import relax, te
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


def events(capsys: pytest.CaptureFixture[str], kind: str) -> list[dict[str, object]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [each for each in found if each["event"] == kind]


def test_the_wrong_step_of_ones_own_pipeline_is_named(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(op.subtract(x, y)))
    (tmp_path / "model.json").write_text(save_json(builder.get()))
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
    b = te.compute((8,), lambda i: a[i] + tvm.tirx.const(1.0, "float32"), "b")
    path = tmp_path / "kernel.json"
    path.write_text(save_json(tvm.IRModule({"main": te.create_prim_func([a, b])})))
    given = Settings(out=tmp_path / "out", budget="10m", json=True, oracles=("crash", "evaluated"))
    assert check_module(path, given, pool=pool) == 0
    asked = events(capsys, "asked")
    compared = {str(each["pass"]) for each in asked if each["reason"] is None}
    for late in ("s_tir.transform.LowerOpaqueBlock()", "tirx.transform.FlattenBuffer()"):
        assert late in compared
