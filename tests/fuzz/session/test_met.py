"""Known bugs on a module of the user's: by name, with place, effect and advice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED, known, knowns
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.checking import check_module
from relaxfuzz.fuzz.session.met import about, breaking
from relaxfuzz.fuzz.user_input.settings import Settings


@pytest.fixture(scope="module")
def power() -> str:
    """A power of integers, which does not legalize, behind what is right."""
    n = relax.Var("n", relax.TensorType((2, 3), "int32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [n]):
        with builder.dataflow():
            twice = builder.emit(op.add(n, n), "twice")
            out = builder.emit_output(op.power(twice, n), "raised")
        builder.emit_func_output(out)
    return save_json(builder.get())


@pytest.mark.parametrize("as_json", [False, True])
def test_a_known_bug_that_breaks_the_build_is_the_answer(
    power: str,
    pool: LocalPool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    path = tmp_path / "power.json"
    path.write_text(power)
    given = Settings(out=tmp_path / "out", budget="10m", json=as_json)
    assert check_module(path, given, pool=pool, pipeline="default") == 1
    out = capsys.readouterr().out
    if not as_json:
        first, named, *_ = out.splitlines()
        assert first == "Known bugs of TVM break the build with the pipeline 'default':"
        assert named == "  B bfloat16-power, main: raised = relax.power: the build fails"
        assert "    instead: cast to float32" in out
        return
    events = [json.loads(line) for line in out.splitlines()]
    (met,) = (each for each in events if each["event"] == "known")
    assert (met["name"], met["effect"], met["grade"]) == ("bfloat16-power", "breaks", "B")
    assert met["place"] == "main: raised = relax.power"
    assert met["workaround"].startswith("cast to float32")


@pytest.mark.parametrize(
    ("make", "code", "heading", "line"),
    [
        (
            lambda x: op.log_add_exp(x, x),
            1,
            "Known bugs of TVM break the build",
            "A log-add-exp-overflow, main: gv = relax.log_add_exp",
        ),
        (
            lambda x: op.argmax(x, 1),
            0,
            "Known bugs of TVM show in this build for arguments such as NaN only",
            "C reduction-extremes-of-special-values, main: gv = ",
        ),
    ],
    ids=["A", "C"],
)
def test_wrong_values_by_a_known_bug_end_with_1_from_the_grade_on(
    make: Callable[[relax.Var], relax.Expr],
    code: int,
    heading: str,
    line: str,
    pool: LocalPool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(make(x)))
    path = tmp_path / "model.json"
    path.write_text(save_json(builder.get()))
    given = Settings(out=tmp_path / "out", budget="10m")
    assert check_module(path, given, pool=pool, pipeline="default") == code
    out = capsys.readouterr().out
    assert out.startswith(heading)
    assert line in out
    assert "wrong values" in out


def test_the_known_bug_behind_a_failing_build_is_named(power: str, pool: LocalPool) -> None:
    (text,) = breaking(pool, power, "default")
    assert text.startswith("B bfloat16-power, main: raised = relax.power\n")


def test_a_bug_without_advice_has_no_such_line() -> None:
    bug = known(SHIPPED / "call-tir-rewrite-unknown-dtype.toml")
    assert bug.workaround is None
    assert [*about(bug, "main: gv")] == [f"B {bug.name}, main: gv", f"  {bug.what}"]


def test_advice_is_one_line_without_a_full_stop() -> None:
    advice = {bug.name: bug.workaround for bug in knowns() if bug.workaround is not None}
    assert len(advice) >= 40
    for name, text in advice.items():
        assert "\n" not in text, name
        assert not text.endswith("."), name


def test_what_records_advise_builds_and_is_right() -> None:
    """The expressions of some records, in one module."""
    a = np.array([[1, np.nan, 3], [np.nan, -2, 5.5]], "float32")
    b = np.array([[np.nan, 2, 1], [4, 4, 2]], "float32")
    p, q = np.array([5.5, -7.25, 3], "float32"), np.array([2, 3, -2], "float32")
    arrays = [a, b, p, q]
    params = [
        relax.Var(f"x{i}", relax.TensorType(x.shape, str(x.dtype))) for i, x in enumerate(arrays)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        x, y, u, v = params
        least = relax.const(np.finfo("float32").min, "float32")
        parts = [
            op.max(op.where(op.isnan(x), least, x), 1),
            op.where(op.isnan(x), x, op.maximum(x, y)),
            op.logical_not(op.equal(x, y)),
            op.subtract(u, op.multiply(op.trunc(op.divide(u, v)), v)),
            op.reshape(op.nn.rms_norm(op.reshape(u, (1, 3)), v, [-1]), (3,)),
            op.astype(op.max(op.astype(op.isnan(x), "int8"), 1), "bool"),
        ]
        builder.emit_func_output(relax.Tuple([builder.emit(builder.normalize(e)) for e in parts]))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
    found = [each.numpy() for each in machine["main"](*map(tvm.runtime.tensor, arrays))]
    expected = [
        np.nanmax(a, 1),
        np.maximum(a, b),
        a != b,
        np.fmod(p, q),
        p / np.sqrt((p * p).mean() + 1e-5) * q,
        np.isnan(a).any(1),
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
