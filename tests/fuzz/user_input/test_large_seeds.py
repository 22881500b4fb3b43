"""Models of the size that people run as seeds: ready in seconds, with all that they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import tests.transformer
from relaxfuzz.compat.serialization import load_json
from relaxfuzz.fuzz.process.executor import check
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.seeds import read_seeds
from relaxfuzz.generators.rewrite.dims import sizes_of
from relaxfuzz.generators.seeds.cutting import Pair, _Body

READ = 20.0
"""Seconds for a model to be read and made small; it takes two or three."""

CHECKED = 10.0
"""Seconds until it has been through its first pipeline; on one idle core it takes one or two."""

PAIRS = 0.95
"""The share of the pairs of neighbouring operators that the pieces have."""


def llama(folder: Path) -> Path:
    """32 layers with the sizes of Llama 2 7B, by the frontend of TVM."""
    path = folder / "llama.py"
    text = Path(tests.transformer.__file__).read_text()
    path.write_text(
        f"{text}\n\nmodel = Blocks(32, 4096, 32, 11008)\nmodel.to('float16')\n"
        "spec = {'forward': {'x': nn.spec.Tensor([1, 'n', 4096], 'float16')}}\n"
        "mod, _ = model.export_tvm(spec)\n"
    )
    return path


class ResNet:
    """The graph of ResNet-50 (He et al., 2016) as exporters write it."""

    def __init__(self) -> None:
        self.onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def saved(self, folder: Path) -> Path:
        """The file."""
        helper, real = self.onnx.helper, self.onnx.TensorProto.FLOAT
        y = self.node("MaxPool", self.conv("x", 3, 64, 7, 2), kernel_shape=[3, 3], strides=[2, 2])
        channels = 64
        for blocks, width in ((3, 64), (4, 128), (6, 256), (3, 512)):
            for at in range(blocks):
                stride = 2 if at == 0 and width > 64 else 1
                inner = self.conv(self.conv(y, channels, width, 1), width, width, 3, stride)
                left = self.normed(inner, width, 4 * width, 1)
                right = self.normed(y, channels, 4 * width, 1, stride) if at == 0 else y
                y = self.node("Relu", self.node("Add", left, right))
                channels = 4 * width
        y = self.node("Flatten", self.node("GlobalAveragePool", y))
        y = self.node("Gemm", y, self.weight(1000, channels), self.weight(1000), transB=1)
        ends = [
            helper.make_tensor_value_info(name, real, shape)
            for name, shape in (("x", [1, 3, 224, 224]), (y, [1, 1000]))
        ]
        graph = helper.make_graph(self.nodes, "resnet", ends[:1], ends[1:], self.weights)
        path = folder / "resnet.onnx"
        opset = self.onnx.helper.make_opsetid("", 17)
        self.onnx.save(helper.make_model(graph, opset_imports=[opset]), str(path))
        return path

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        """The name of its result."""
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [name], **attributes))
        return name

    def weight(self, *shape: int) -> str:
        name = f"weight_{len(self.weights)}"
        data = np.zeros(shape, "float32")
        self.weights.append(self.onnx.numpy_helper.from_array(data, name))
        return name

    def normed(self, x: str, before: int, after: int, kernel: int, stride: int = 1) -> str:
        weight = self.weight(after, before, kernel, kernel)
        pads = [kernel // 2] * 4
        y = self.node("Conv", x, weight, strides=[stride, stride], pads=pads)
        return self.node("BatchNormalization", y, *(self.weight(after) for _ in range(4)))

    def conv(self, x: str, before: int, after: int, kernel: int, stride: int = 1) -> str:
        return self.node("Relu", self.normed(x, before, after, kernel, stride))


def resnet(folder: Path) -> Path:
    """ResNet-50 as an ONNX file."""
    return ResNet().saved(folder)


def pairs_of(mod: tvm.IRModule) -> set[Pair]:
    """All pairs of neighbouring operators in the bodies of the functions."""
    found = (_Body(func) for func in mod.functions.values() if isinstance(func, relax.Function))
    return {pair for body in found for pair in body.pairs(range(len(body.sites)))}


@pytest.mark.parametrize(
    ("model", "layers", "size"),
    [(llama, ("relax.nn.rms_norm", 64), 11008), (resnet, ("relax.nn.conv2d", 53), 2048)],
    ids=["llama", "resnet"],
)
def test_models_of_full_size(
    model: Callable[[Path], Path],
    layers: tuple[str, int],
    size: int,
    tmp_path: Path,
    pool: LocalPool,
) -> None:
    path = model(tmp_path)
    begin = time.monotonic()
    (seed,) = read_seeds([str(path)], pool)
    read = time.monotonic() - begin
    assert seed.problem is None
    assert seed.whole is not None
    whole = load_json(seed.whole.text)
    op, count = layers
    labels = [label for func in map(_Body, whole.functions.values()) for label in func._labels]
    assert labels.count(op) == count, "all layers"
    assert sizes_of(whole)[size] > 0, "at the sizes of the model"
    kept = set().union(*(pairs_of(piece.load()) for piece in seed.pieces))
    pairs = pairs_of(whole)
    assert len(pairs & kept) >= PAIRS * len(pairs), pairs - kept
    begin = time.monotonic()
    assert check(pool, Check(module=seed.whole.text, pipeline="zero", oracles=("crash",))) == []
    checked = time.monotonic() - begin
    assert read <= READ
    assert checked <= CHECKED
