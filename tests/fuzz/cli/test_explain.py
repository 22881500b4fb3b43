"""`relaxfuzz explain` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.cli.explain import explain
from relaxfuzz.fuzz.output.diagnostics import NARROWEST
from relaxfuzz.fuzz.process import local_pool
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.settings import Settings
from tests.fuzz.sharing import share_pool

from ...commands import relaxfuzz

MODEL = """\
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            z = R.add(x, y)
            R.output(z)
        return z
"""

BUILD = """\
import ctypes

import tvm


@tvm.transform.module_pass(opt_level=0, name="Falls")
def falls(mod, context):
    ctypes.string_at(0)


def pipeline():
    return tvm.transform.Sequential([tvm.relax.transform.LegalizeOps(), falls])


def no_pass():
    return 3
"""


@pytest.fixture
def folder(tmp_path: Path, pool: LocalPool, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user; `explain` takes the pool of the tests, the command starts its own."""
    share_pool(monkeypatch, pool, local_pool)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "build.py").write_text(BUILD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_page() -> None:
    done = relaxfuzz("explain", "model.py", env={"COLUMNS": "100"})
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "error: `R.add` cannot be lowered: the shape of `x` is not known"
    assert "--> model.py:10:17, in function main, step LegalizeOps (3 of 15)" in lines[1]
    at = next(i for i, line in enumerate(lines) if "R.add(x, y)" in line)
    assert lines[at].startswith(" 10 |")
    assert lines[at + 1].index("^") == lines[at].index("R.add(x, y)")
    assert lines[at + 1].count("^") == len("R.add(x, y)")
    assert any(line.strip().startswith("= help: ") for line in lines)
    assert lines[-1] == "1 problem explained; 15 steps of the pipeline 'default' ran."
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in done.stdout


@pytest.mark.usefixtures("folder")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(Path("model.py"), Settings(json=True), "default") == 1
    trouble, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert (trouble["event"], trouble["kind"]) == ("trouble", "not-lowered")
    assert trouble["function"] == "main"
    assert trouble["excerpt"]["number"] == 10
    assert trouble["help"]
    assert (summary["event"], summary["troubles"], summary["built"]) == ("summary", 1, False)
    assert "LegalizeOps" in summary["steps"]


def test_nothing_is_wrong(folder: Path, sums: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.json").write_text(sums)
    assert explain(Path("model.json"), Settings(), "default") == 0
    assert capsys.readouterr().out.startswith("Nothing is wrong: 15 steps")


@pytest.mark.session
@pytest.mark.usefixtures("folder")
def test_a_step_that_kills_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(Path("model.py"), Settings(), "build.py:pipeline") == 1
    shown = capsys.readouterr().out
    assert shown.startswith("error: Falls kills the process on the module: segmentation fault")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "pipeline", "message"),
    [
        ("model.py", "defautl", "no pipeline 'defautl'. Did you mean 'default'?"),
        ("model.py", "build.py:no_pass", "PatternMatchingRewriter but got 3"),
    ],
)
def test_mistakes(file: str, pipeline: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        explain(Path(file), Settings(), pipeline)
    assert message in str(caught.value)


def test_an_ill_formed_module_is_explained_not_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y = relax.Var("y", x.ty)
    body = relax.SeqExpr([], y)
    relax.expr._update_type(body, y.ty)
    func = relax.Function([x], body, y.ty).with_attr("global_symbol", "main")
    (folder / "model.json").write_text(tvm.ir.save_json(tvm.IRModule({"main": func})))
    assert explain(Path("model.json"), Settings(), "default") == 1
    assert "the module is not well-formed" in capsys.readouterr().out


def test_a_long_line_is_cut_around_the_mark(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROWEST))
    name = "a_variable_whose_name_is_too_long_for_a_narrow_terminal"
    text = MODEL.replace("z = ", f"{name} = ").replace("(z)", f"({name})")
    (folder / "model.py").write_text(text.replace("return z", f"return {name}"))
    assert explain(Path("model.py"), Settings(), "default") == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("…" in line and "R.add(x, y)" in line for line in lines)
