"""An object that a function gives is imported, or refused in one sentence that names it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz.loading.read_module import BadModule, inspect, load
from relaxfuzz.fuzz.minimize.input import read_input
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.settings import within
from relaxfuzz.oracles.inspect import ops_used
from relaxfuzz.oracles.values.frameworks import saved

MODELS = """
import tvm
from tvm import relax


class Twice(relax.frontend.nn.Module):
    def forward(self, x):
        return relax.frontend.nn.op.add(x, x)


def ir_module():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return builder.get()


def nn_module():
    spec = {"forward": {"x": relax.frontend.nn.spec.Tensor((4,), "float32")}}
    return Twice(), spec


def nn_module_alone():
    return Twice()


def onnx_model():
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def onnx_file():
    import os, tempfile
    import onnx

    path = os.path.join(tempfile.gettempdir(), "model.onnx")
    onnx.save(onnx_model(), path)
    return path


def torch_module():
    import torch

    class Running(torch.nn.Module):
        def forward(self, x, *, mask):
            return (x * 2, torch.cumsum(mask != 0, -1))

    return Running(), (torch.ones(1, 4),), {"mask": torch.tensor([[1, 0, 1, 1]])}


def torch_module_alone():
    import torch

    return torch.nn.Linear(2, 2)


def torch_program():
    import torch

    return torch.export.export(torch.nn.Linear(2, 2).eval(), (torch.ones(1, 2),))


def wrong_spec():
    return Twice(), {"backward": {}}


def a_list():
    return [1]


def nothing():
    return None


def raises():
    raise ValueError("no weights")


a_number = 3
"""

READ = "expected an IRModule, .*; a torch.nn.Module with example arguments"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "models.py"
    path.write_text(MODELS)
    return path


@pytest.mark.parametrize("name", ["ir_module", "nn_module", "onnx_model", "onnx_file"])
def test_a_model_is_imported(models: Path, pool: LocalPool, tmp_path: Path, name: str) -> None:
    if name.startswith("onnx"):
        pytest.importorskip("onnx")
    source = Path(f"{models}:{name}")
    inspect(source)
    mod = tvm.ir.load_json(load(source, pool, beside=tmp_path))
    assert "relax.add" in ops_used(mod)
    assert saved(tmp_path) is None


@pytest.mark.parametrize("name", ["torch_module", "torch_program"])
def test_a_model_of_torch_brings_its_outputs(
    models: Path, pool: LocalPool, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("torch")
    load(Path(f"{models}:{name}"), pool, beside=tmp_path)
    reference = saved(tmp_path)
    assert reference is not None
    assert reference.framework.startswith("torch ")
    assert len(reference.outputs) == (2 if name == "torch_module" else 1)
    assert {node.op for node in reference.nodes} <= {
        *("aten.mul.Tensor", "aten.ne.Scalar", "aten.cumsum.default"),
        *("aten.permute.default", "aten.addmm.default"),
    }
    assert reference.values


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a_list", rf"models.py:a_list' gives a list; {READ}"),
        ("nn_module_alone", r"gives \(a relaxfuzz_user_module.Twice,\); of a relax.frontend.nn"),
        (
            "wrong_spec",
            r"gives \(a relaxfuzz_user_module.Twice, a dict\), which cannot be imported",
        ),
        ("raises", r"models.py:raises' raised ValueError: no weights"),
        ("a_number", r"is of the type int; expected a function without arguments"),
    ],
)
def test_anything_else_is_refused(models: Path, pool: LocalPool, name: str, message: str) -> None:
    with pytest.raises(BadModule, match=message):
        load(Path(f"{models}:{name}"), pool)


def test_a_torch_module_alone_is_refused(models: Path, pool: LocalPool) -> None:
    pytest.importorskip("torch")
    with pytest.raises(BadModule, match=r"of a torch.nn.Module, expected \(module, args\)"):
        load(Path(f"{models}:torch_module_alone"), pool)


def test_a_function_of_a_file_is_found_from_its_folder() -> None:
    given = ("models/model.py:make", "package.models:make", "model.json")
    assert within({"seeds": given}, Path("there"))["seeds"] == (
        "there/models/model.py:make",
        "package.models:make",
        "there/model.json",
    )


def test_minimize_reads_a_model(models: Path) -> None:
    given = read_input(Path(f"{models}:ir_module"))
    assert given.finding is None
    assert "relax.add" in ops_used(tvm.ir.load_json(given.module))
