"""Models of frameworks as IRModules: what a function of the user's has given, imported by TVM.

Frameworks are optional. One is used only where the function has given an object of it, and so has
imported it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tvm
from tvm.relax.frontend import nn

from ...oracles.values.frameworks import Reference
from . import torch_model
from .errors import UserError

READ = (
    "an IRModule; a torch.nn.Module with example arguments, as (module, args) or (module, args, "
    "kwargs); a torch.export.ExportedProgram; an ONNX model, as a ModelProto or the path of a "
    "file; a relax.frontend.nn.Module with its spec, as (module, spec)"
)
"""The objects that are read."""


def imported(made: object) -> tuple[tvm.IRModule, Reference | None]:
    """The module of what a function has given, and what the framework says of it.

    Raises:
        UserError: nothing can be made of such an object; the message names it.
    """
    first, *rest = made if isinstance(made, tuple) and made else (made,)
    if isinstance(first, tvm.IRModule):
        return first, None
    if torch_model.is_module(first):
        return _of_torch(first, rest)
    if torch_model.is_program(first):
        return torch_model.of_program(first)
    if isinstance(first, nn.Module):
        return _of_nn(first, rest), None
    if _is_onnx(first):
        return _of_onnx(first), None
    raise UserError(f"gives {named(made)}; expected {READ}")


def _of_torch(module: Any, rest: list[Any]) -> tuple[tvm.IRModule, Reference | None]:
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
    """The kind of an object, for messages; of a tuple, the kinds of its parts."""
    if isinstance(made, tuple):
        return f"({', '.join(map(named, made))}{',' if len(made) == 1 else ''})"
    kind = type(made)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = f", {made[:60]!r}" if isinstance(made, str) else ""
    return "None" if made is None else f"a {home}{kind.__name__}{text}"
