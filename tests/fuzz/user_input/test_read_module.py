"""A user's module is read whatever it does, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.loading.read_module import BadModule, load
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.generators.source import to_source

SCRIPT = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
"""


@pytest.fixture(scope="module")
def mod(tmp_path_factory: pytest.TempPathFactory) -> tvm.IRModule:
    path = tmp_path_factory.mktemp("script") / "script.py"
    path.write_text(SCRIPT)
    return execute(path)


def write(folder: Path, text: str, name: str = "user_module.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["json", "script", "printed script", "source"])
def test_every_form_gives_the_module(
    tmp_path: Path, pool: LocalPool, mod: tvm.IRModule, form: str
) -> None:
    path = {
        "json": lambda: write(tmp_path, tvm.ir.save_json(mod), "model.json"),
        "script": lambda: write(tmp_path, SCRIPT),
        "printed script": lambda: write(tmp_path, mod.script()),
        "source": lambda: write(tmp_path, to_source(mod)),
    }[form]()
    loaded = tvm.ir.load_json(load(path, pool))
    tvm.ir.assert_structural_equal(loaded, mod)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"does not parse: .* line 1\)"),
        ("import re\nraise KeyError('oh')", "raised KeyError: 'oh'"),
        ("import os\nos._exit(7)", "ended with code 7"),
        (SCRIPT.replace("R.output(y)", "R.output(z)"), "Undefined variable: z"),
        (f"{SCRIPT}\nOther = Module\nthird = Module.clone()\ndel Module", "several IRModules"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, pool: LocalPool, text: str, message: str) -> None:
    with pytest.raises(BadModule, match=message) as raised:
        load(write(tmp_path, text), pool)
    assert "\n" not in str(raised.value)
    assert "user_module.py" in str(raised.value)


def test_a_script_without_its_constants_is_refused_with_a_hint(
    tmp_path: Path, pool: LocalPool
) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        weights = relax.const(np.arange(6, dtype="float32").reshape(2, 3))
        builder.emit_func_output(builder.emit(relax.op.add(x, weights)))
    mod = builder.finalize()
    with pytest.raises(BadModule, match=r"print it with mod\.script\(show_meta=True\)"):
        load(write(tmp_path, mod.script()), pool)
    loaded = load(write(tmp_path, mod.script(show_meta=True)), pool)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(loaded), mod)


def test_ill_formed_module_is_refused(tmp_path: Path, pool: LocalPool) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y = relax.Var("y", relax.TensorType((2,), "float32"))
    body = relax.SeqExpr([], y)
    relax.expr._update_type(body, y.ty)
    func = relax.Function([x], body, y.ty).with_attr("global_symbol", "main")
    bad = tvm.IRModule({relax.GlobalVar("main"): func})
    with pytest.raises(BadModule, match="not well-formed"):
        load(write(tmp_path, tvm.ir.save_json(bad), "model.json"), pool)


def test_user_code_does_not_run_here(tmp_path: Path, pool: LocalPool) -> None:
    load(write(tmp_path, SCRIPT + "\nimport tvm\ntvm.touched = True\n"), pool)
    assert not hasattr(tvm, "touched")
