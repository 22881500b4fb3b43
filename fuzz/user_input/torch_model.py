"""Imports PyTorch models into IRModules, with PyTorch's own outputs on the example arguments.

PyTorch is never imported here: a user's function has returned one of its objects.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import ml_dtypes
import numpy as np
import tvm

from ...compat import torch_importer
from ...oracles.values.frameworks import FrameworkNode, FrameworkReference
from ..system.errors import UserError

LARGEST = 1 << 28
"""Most bytes of all intermediate values; if there are more, none is kept."""


def loaded() -> Any:
    """The module `torch`, if the user's code has imported it; else None."""
    return sys.modules.get("torch")


def is_module(made: object) -> bool:
    """Return whether it is a torch.nn.Module."""
    torch = loaded()
    return torch is not None and isinstance(made, torch.nn.Module)


def is_program(made: object) -> bool:
    """Return whether it is a torch.export.ExportedProgram."""
    export = getattr(loaded(), "export", None)
    return export is not None and isinstance(made, export.ExportedProgram)


def of_module(
    module: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[tvm.IRModule, FrameworkReference | None]:
    """Import a torch.nn.Module in eval mode; return the module and PyTorch's own results."""
    torch = loaded()
    with torch.no_grad():
        program = torch.export.export(module.eval(), tuple(args), dict(options))
        outputs = module(*args, **options)
    return _imported(program, args, options, outputs)


def of_program(program: Any) -> tuple[tvm.IRModule, FrameworkReference | None]:
    """Import an ExportedProgram; return the module and PyTorch's own results.

    If the program has no example arguments, its outputs are unknown.
    """
    if program.example_inputs is None:
        return torch_importer.import_program(program.run_decompositions())[0], None
    args, options = program.example_inputs
    with loaded().no_grad():
        outputs = program.module()(*args, **options)
    return _imported(program, args, options, outputs)


def _imported(
    program: Any, args: Sequence[Any], options: Mapping[str, Any], outputs: Any
) -> tuple[tvm.IRModule, FrameworkReference | None]:
    torch = loaded()
    with torch.no_grad():
        program = program.run_decompositions()
        mod, made = torch_importer.import_program(program)
        inputs = program._graph_module_flat_inputs(tuple(args), dict(options))
        of_nodes = _values(program, inputs)
    leaves = torch.utils._pytree.tree_leaves(outputs)
    names = [str(param.name) for param in mod["main"].params]
    given = {spec.arg.name: each for spec, each in _inputs(program, inputs)}
    if any(not isinstance(given.get(name), torch.Tensor) for name in names):
        raise UserError(
            f"the module has the parameters {', '.join(names)}, and the example arguments are "
            f"{', '.join(given)}"
        )
    nodes = list(_nodes(program, made))
    kept = {made[name].name: each for name, each in of_nodes.items() if _is_var(made.get(name))}
    size = sum(each.numel() * each.element_size() for each in kept.values())
    return mod, FrameworkReference(
        framework=f"torch {torch.__version__.partition('+')[0]}",
        importer=torch_importer.NAME,
        args=[_array(given[name]) for name in names],
        outputs=[_array(each) for each in leaves if isinstance(each, torch.Tensor)],
        nodes=nodes,
        values={str(n): _array(each) for n, each in kept.items()} if size <= LARGEST else {},
    )


def _inputs(program: Any, inputs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The user's inputs of the program, each with its value."""
    for spec, value in zip(program.graph_signature.input_specs, inputs, strict=True):
        if spec.kind.name == "USER_INPUT":
            yield spec, value


def _values(program: Any, inputs: Sequence[Any]) -> Mapping[str, Any]:
    """The tensors computed by the nodes of the graph, by their names."""
    torch = loaded()
    found: dict[str, Any] = {}

    class Recorder(torch.fx.Interpreter):  # type: ignore[name-defined,misc]
        def run_node(self, node: Any) -> Any:
            value = super().run_node(node)
            if node.op == "call_function" and isinstance(value, torch.Tensor):
                found[node.name] = value.clone()
            return value

    # They only serve to locate the start of a difference.
    with contextlib.suppress(Exception):
        Recorder(program.graph_module).run(*inputs)
    return found


def _nodes(program: Any, made: Mapping[str, Any]) -> Iterator[FrameworkNode]:
    """The nodes that compute a tensor and correspond to one variable in the module."""
    torch = loaded()
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        if _is_var(made.get(node.name)):
            shape = tuple(dim if isinstance(dim, int) else -1 for dim in value.shape)
            dtype = str(value.dtype).removeprefix("torch.")
            before = [made[each.name] for each in node.all_input_nodes if each.name in made]
            operands = tuple(str(each.name) for each in before if _is_var(each))
            yield FrameworkNode(str(node.target), str(made[node.name].name), dtype, shape, operands)


def _is_var(expr: Any) -> TypeGuard[tvm.relax.Var]:
    return isinstance(expr, tvm.relax.Var)


def _array(tensor: Any) -> Any:
    """Convert the tensor to NumPy."""
    torch = loaded()
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())
