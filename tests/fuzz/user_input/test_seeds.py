"""What --seeds reads, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relaxfuzz.compat.serialization import load_json
from relaxfuzz.fuzz.loading.seeds import read_seeds
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.seeds import distinct
from relaxfuzz.oracles.checkers import flaw

MODELS = """\
import tvm
from tvm import relax

def chain(size=512):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, size), "float16"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.nn.relu(x))
        builder.emit_func_output(builder.emit(relax.op.tanh(y)))
    return builder.finalize()

def text():
    return "no module"

def fails():
    raise ValueError("out of cheese")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed_models.py").write_text(MODELS)
    (tmp_path / "model.py").write_text(MODELS + "\nmod = chain()\n")
    return tmp_path


def test_python_files(folder: Path, pool: LocalPool) -> None:
    (seed,) = read_seeds(["model.py"], pool)
    assert seed.problem is None
    (piece,) = seed.pieces
    assert piece.name == "model.py, main, bindings 0 to 1"
    assert piece.ops == ("nn.relu", "tanh")
    assert flaw(load_json(piece.text)) is None
    assert "512" not in piece.text


def test_folders(folder: Path, pool: LocalPool) -> None:
    inside = folder / "models" / "more"
    inside.mkdir(parents=True)
    (inside / "a.py").write_text(MODELS + "\nmod = chain()\n")
    (inside / "b.py").write_text(MODELS + "\nmod = chain(size=256)\n")
    (inside / "notes.txt").write_text("nothing")
    found = list(read_seeds(["models"], pool))
    assert [seed.source for seed in found] == ["models/more/a.py", "models/more/b.py"]
    pieces = distinct(piece for seed in found for piece in seed.pieces)
    assert len(pieces) == 1, "they differ in a size that is not kept"


def test_onnx(folder: Path, pool: LocalPool) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
    weights = np.ones((64, 3, 3, 3), "float32")
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            onnx.helper.make_node("Relu", ["c"], ["y"]),
        ],
        "net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 224, 224])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 64, 224, 224])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), "net.onnx"
    )
    (seed,) = read_seeds(["net.onnx"], pool)
    assert seed.problem is None
    assert [piece.ops for piece in seed.pieces] == [("nn.conv2d", "nn.relu")]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("broken.json", "{", "'broken.json' is neither a Python file (*.py) nor JSON of a module"),
        ("dies.py", "import os; os.abort()", "killed by SIGABRT"),
        ("empty.py", "import tvm; mod = tvm.IRModule({})", "has no bindings"),
    ],
)
def test_bad_files(folder: Path, pool: LocalPool, name: str, text: str, problem: str) -> None:
    (folder / name).write_text(text)
    bad, good = read_seeds([name, "model.py"], pool)
    assert bad.pieces == ()
    assert bad.problem is not None
    assert problem in bad.problem
    assert good.problem is None, "the rest is used"


def test_functions_that_give_no_module(folder: Path) -> None:
    with LocalPool(1) as pool:  # started here: it finds the modules of this folder
        found = {
            seed.source: seed
            for seed in read_seeds(
                ["seed_models:chain", "seed_models:text", "seed_models:fails", "seed_models:no"],
                pool,
            )
        }
    assert len(found["seed_models:chain"].pieces) == 1
    assert "gives a str" in str(found["seed_models:text"].problem)
    assert "raised ValueError: out of cheese" in str(found["seed_models:fails"].problem)
    assert "is not there; expected a function" in str(found["seed_models:no"].problem)
