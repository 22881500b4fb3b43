"""Right values of the user's: what departs from them, how far and where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from relaxfuzz.fuzz.loading.right_values import DATA, onnx_test, reference
from relaxfuzz.fuzz.session.imports import text
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.models import imported
from relaxfuzz.oracles.values.frameworks import OWN, FrameworkReference

from ...swapping_pass import SWAP
from .verdicts import verdict_of

X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.array([4, 0, 1], "float32")


@pytest.fixture(scope="module")
def mod() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    y = relax.Var("y", relax.TensorType((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(op.subtract(x, y)))
    return builder.get()


STEPS = f"""{SWAP}

def pipeline():
    return tvm.transform.Sequential([relax.transform.Normalize(), swap])
"""


def test_a_step_that_departs_is_named(mod: tvm.IRModule, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    values = FrameworkReference(OWN, "the import", [X, Y], [X - Y])
    verdict = verdict_of(mod, values, pipeline=f"{tmp_path / 'steps.py'}:pipeline")
    assert verdict.fails
    assert text(verdict) == [
        "compared with your values:",
        "  the NumPy evaluation of the module agrees",
        "  the build differs: values: at [0, 0] of output 0 expected -4 but got 4, the largest "
        "difference",
        "  SwapSubtract departs from what is expected: the steps before it agree",
    ]


def test_a_module_that_departs_is_told_from_its_build(mod: tvm.IRModule) -> None:
    wrong = X - Y
    wrong[1, 2] = 40
    verdict = verdict_of(mod, FrameworkReference(OWN, "the import", [X, Y], [wrong]))
    assert verdict.fails
    assert verdict.departs is None
    assert text(verdict)[-1].startswith("  the import gives another value than expected")
    assert "at [1, 2] of output 0 expected 40 but got 4" in text(verdict)[1]


def test_arrays_by_name_or_in_order(mod: tvm.IRModule, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", y=Y, x=X)
    np.savez(tmp_path / "plain.npz", X, Y)
    np.save(tmp_path / "out.npy", X - Y)
    for name in ("in.npz", "plain.npz"):
        found = reference(mod, tmp_path / name, tmp_path / "out.npy")
        assert [each.shape for each in found.args] == [(2, 3), (3,)]
        assert len(found.outputs) == 1


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X, "z": Y}, "has an array 'z', and main has no such parameter"),
        ({"x": X}, "has no array y"),
        ({"a": X}, r"has 1 arrays \(a\), and main has the parameters x, y"),
    ],
)
def test_arrays_that_do_not_fit(
    mod: tvm.IRModule, tmp_path: Path, arrays: dict[str, object], message: str
) -> None:
    np.savez(tmp_path / "in.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=message):
        reference(mod, tmp_path / "in.npz", tmp_path / "in.npz")


def test_a_folder_as_onnx_has_it(mod: tvm.IRModule, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    with pytest.raises(UserError, match="is not a test as ONNX has it"):
        onnx_test(tmp_path)
    (tmp_path / "model.onnx").touch()
    data = tmp_path / DATA
    data.mkdir()
    for name, array in (("input_0", X), ("input_1", Y), ("output_0", X - Y)):
        tensor = onnx.numpy_helper.from_array(array, name)
        (data / f"{name}.pb").write_bytes(tensor.SerializeToString())
    model, values = onnx_test(tmp_path)
    assert model.name == "model.onnx"
    found = reference(mod, values, values)
    np.testing.assert_array_equal(found.outputs[0], X - Y)


def test_a_function_gives_module_and_values(mod: tvm.IRModule) -> None:
    _, found = imported((mod, [X, Y], [X - Y]))
    assert found is not None
    assert (found.framework, len(found.args), len(found.outputs)) == (OWN, 2, 1)
    with pytest.raises(UserError, match=r"expected \(mod, inputs, outputs\)"):
        imported((mod, X))
