"""TVM's importer of programs that PyTorch exported, and the expressions that it makes of nodes.

Only callers that hold an object of PyTorch use this module, so PyTorch is installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import tvm

NAME = "relax.frontend.torch.from_exported_program"


def import_program(program: Any) -> tuple[tvm.IRModule, Mapping[str, Any]]:
    """The module that TVM makes of an ExportedProgram, and the Relax expression of each node.

    Args:
        program: a program in the operators that the importer accepts, after `run_decompositions`.

    Returns:
        The module, and the expressions by the names of the nodes; empty if this TVM's importer does
        not keep them.
    """
    from tvm.relax.frontend import torch as frontend

    importers: list[Any] = []
    options = {}
    if "run_ep_decomposition" in inspect.signature(frontend.from_exported_program).parameters:
        options["run_ep_decomposition"] = False
    translator = inspect.getmodule(frontend.from_exported_program)
    importer = getattr(translator, "ExportedProgramImporter", None)
    if importer is not None:
        setattr(translator, "ExportedProgramImporter", _kept(importer, importers))  # noqa: B010
    try:
        mod = frontend.from_exported_program(program, **options)
    finally:
        if importer is not None:
            setattr(translator, "ExportedProgramImporter", importer)  # noqa: B010
    made = getattr(importers[-1], "env", {}) if importers else {}
    return mod, {str(node.name): expr for node, expr in made.items()}


def _kept(importer: Any, made: list[Any]) -> Any:
    """A class of importers that adds each new one to `made`."""

    class Kept(importer):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    return Kept
