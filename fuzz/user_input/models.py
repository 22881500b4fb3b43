"""Imports models of frameworks, as returned by a user's function, into IRModules.

Frameworks are optional. A framework is used only if the function returned an object of it, and so
has imported it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm.relax.frontend import nn

from ...oracles.values.frameworks import OWN, FrameworkReference
from ..system.errors import UserError
from . import torch_model

READ = (
    "an IRModule, also with right values as (mod, inputs, outputs); a torch.nn.Module with example "
    "arguments, as (module, args) or (module, args, "
    "kwargs); a torch.export.ExportedProgram; an ONNX model, as a ModelProto or the path of a "
    "file; a relax.frontend.nn.Module with its spec, as (module, spec)"
)
"""The objects that can be read."""


def imported(made: object) -> tuple[tvm.IRModule, FrameworkReference | None]:
    """Return the module of a function's result, and the results of the framework.

    Raises:
        UserError: the object cannot be imported; the message names it.
    """
    first, *rest = made if isinstance(made, tuple) and made else (made,)
    if isinstance(first, tvm.IRModule):
        return first, _own_values(first, rest) if rest else None
    if torch_model.is_module(first):
        return _of_torch(first, rest)
    if torch_model.is_program(first):
        return torch_model.of_program(first)
    if isinstance(first, nn.Module):
        return _of_nn(first, rest), None
    if _is_onnx(first):
        return _of_onnx(first), None
    raise UserError(f"gives {named(made)}; expected {READ}")


def _own_values(mod: tvm.IRModule, rest: list[Any]) -> FrameworkReference:
    if len(rest) != 2 or not all(isinstance(each, tuple | list) for each in rest):
        raise UserError(
            f"gives {named((mod, *rest))}; with an IRModule, expected (mod, inputs, outputs), both "
            "lists of NumPy arrays"
        )
    inputs, outputs = ([np.asarray(each) for each in some] for some in rest)
    return FrameworkReference(OWN, "the module", inputs, outputs)


def _of_torch(module: Any, rest: list[Any]) -> tuple[tvm.IRModule, FrameworkReference | None]:
    args, options = (*rest, {})[:2] if rest else (None, {})
    if not isinstance(args, tuple | list) or not isinstance(options, Mapping) or len(rest) > 2:
        raise UserError(
            f"gives {named((module, *rest))}; of a torch.nn.Module, expected (module, args) or "
            "(module, args, kwargs), where args is a tuple of example arguments"
        )
    return torch_model.of_module(module, args, options)


def _of_nn(module: nn.Module, rest: list[Any]) -> tvm.IRModule:
    if len(rest) != 1 or not isinstance(rest[0], Mapping):
        raise UserError(
            f"gives {named((module, *rest))}; of a relax.frontend.nn.Module, expected (module, "
            "spec), where spec is that of export_tvm"
        )
    mod, *_ = module.export_tvm(spec=rest[0])
    return mod


def _is_onnx(made: object) -> bool:
    onnx = sys.modules.get("onnx")
    if onnx is not None and isinstance(made, onnx.ModelProto):
        return True
    return isinstance(made, str | Path) and str(made).endswith(".onnx")


def _of_onnx(made: Any) -> tvm.IRModule:
    try:
        onnx = importlib.import_module("onnx")
        from tvm.relax.frontend.onnx import from_onnx
    except ImportError as error:
        raise UserError(f"gives an ONNX model, which needs 'relaxfuzz[onnx]': {error}") from None
    return from_onnx(onnx.load(str(made)) if isinstance(made, str | Path) else made)


def named(made: object) -> str:
    """The kind of an object, for messages; for a tuple, the kinds of its parts."""
    if isinstance(made, tuple):
        return f"({', '.join(map(named, made))}{',' if len(made) == 1 else ''})"
    kind = type(made)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = f", {made[:60]!r}" if isinstance(made, str) else ""
    return "None" if made is None else f"a {home}{kind.__name__}{text}"
