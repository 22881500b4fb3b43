"""Right values from the user: inputs of a model, and the outputs that it must give for them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from ...oracles.values.frameworks import MAIN, OWN, FrameworkReference
from ..output.readable import sentence
from ..system.errors import UserError, near

DATA = "test_data_set_0"
"""The folder of values beside a model, as in ONNX's tests."""


def onnx_test(folder: Path) -> tuple[Path, Path]:
    """The model and the values in a folder, laid out as in ONNX's tests.

    Raises:
        UserError: it is not such a folder.
    """
    models = sorted(folder.glob("*.onnx"))
    if len(models) != 1 or not (folder / DATA).is_dir():
        raise UserError(
            f"the folder '{sentence(str(folder))}' is not a test as ONNX has it; expected one "
            f"*.onnx and {DATA} in it"
        )
    return models[0], folder / DATA


def reference(mod: tvm.IRModule, inputs: Path, expected: Path) -> FrameworkReference:
    """The values in two files, in the order of the parameters of `main`.

    Raises:
        UserError: a file cannot be read, or does not fit the module.
    """
    if MAIN not in [str(gvar.name_hint) for gvar in mod.get_global_vars()]:
        raise UserError(f"--inputs and --expected need a function {MAIN!r}, which is not there")
    names = [str(param.name) for param in mod[MAIN].params]
    given = _arrays(inputs, "input")
    if given.keys() & set(names):
        for name in given:
            if name not in names:
                raise UserError(
                    f"'{sentence(str(inputs))}' has an array {name!r}, and main has no such "
                    f"parameter{near(name, names)}"
                )
        if missing := [name for name in names if name not in given]:
            raise UserError(f"'{sentence(str(inputs))}' has no array {', '.join(missing)}")
        given = {name: given[name] for name in names}
    if len(given) != len(names):
        raise UserError(
            f"'{sentence(str(inputs))}' has {len(given)} arrays ({', '.join(given)}), and main has "
            f"the parameters {', '.join(names)}"
        )
    outputs = [*_arrays(expected, "output").values()]
    return FrameworkReference(OWN, "the import", [*given.values()], outputs)


def _arrays(path: Path, kind: str) -> Mapping[str, Any]:
    """The arrays of a file, or of the files of one kind in a folder laid out as ONNX's, by name."""
    try:
        if path.is_dir():
            return _of_onnx(path, kind)
        found = np.load(path, allow_pickle=False)
        return {kind: found} if isinstance(found, np.ndarray) else dict(found)
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"'{sentence(str(path))}' cannot be read: expected *.npz or *.npy, or a folder with "
            f"{kind}_0.pb: {sentence(str(error))}"
        ) from None


def _of_onnx(folder: Path, kind: str) -> Mapping[str, Any]:
    onnx = importlib.import_module("onnx")
    helper = importlib.import_module("onnx.numpy_helper")
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.split("_")[-1]))
    if not files:
        raise UserError(f"the folder '{sentence(str(folder))}' has no {kind}_0.pb")
    found = {}
    for file in files:
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        found[tensor.name or file.stem] = helper.to_array(tensor)
    return found
