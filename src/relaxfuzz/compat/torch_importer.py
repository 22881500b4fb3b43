"""TVM's importer of programs that PyTorch exported, and the variable that it makes of a node.

Only a caller that holds an object of PyTorch uses it, so that PyTorch is there.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import tvm

NAME = "relax.frontend.torch.from_exported_program"


def import_program(program: Any) -> tuple[tvm.IRModule, Mapping[str, Any]]:
    """The module that TVM makes of an ExportedProgram; the Relax expression of each of its nodes.

    Args:
        program: in the operators that the importer takes, after `run_decompositions`.

    Returns:
        The expressions by the names of the nodes; none where this TVM's importer does not keep
        them.
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
