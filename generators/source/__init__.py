"""IRModule to Python source and back.

TVM's JSON and script forms do not load in other releases. Scripts and builders also lose details:
sharing of nodes, and types weaker than inferred ones. The source made here is a list of plain
constructor calls that defines exactly the given module.
"""

import builtins

import tvm
from tvm import tirx

from ...compat.structural import structural_equal
from . import relax_nodes, tensorir_nodes, values
from .graph import NodeGraph, first_difference
from .writer import Writer

_EMITTERS = {**values.EMITTERS, **relax_nodes.EMITTERS, **tensorir_nodes.EMITTERS}


class SourceError(ValueError):
    """A text that does not define a module."""


def to_source(mod: tvm.IRModule) -> str:
    """Python text that defines `mod`: the same nodes, sharing, names, types and attributes.

    It needs TVM and NumPy only. Spans, source maps and Python functions in the module are dropped.
    Modules of high-level Relax ops also load in TVM 0.25 and 0.26.
    """
    return Writer(NodeGraph(mod), _EMITTERS, _stale(mod)).written()


def from_source(text: str) -> tvm.IRModule:
    """The `mod` that `text` defines.

    Raises SourceError if there is none; exceptions of the text itself propagate.
    """
    # The text uses TVM under the name of this module, see `drift_of`.
    namespace: dict[str, object] = {"__builtins__": builtins, "__name__": __name__}
    exec(compile(text, "<module source>", "exec"), namespace)
    if "mod" not in namespace:
        raise SourceError("the text defines no variable named mod")
    mod = namespace["mod"]
    if not isinstance(mod, tvm.IRModule):
        raise SourceError(f"mod must be a tvm.IRModule, not {mod!r} (type={type(mod).__name__})")
    return mod


def same_graph(a: tvm.IRModule, b: tvm.IRModule) -> str | None:
    """None if two modules are the same graph of IR nodes, else the first difference.

    It compares all reflected fields (names, types, attributes, tensor data, the order of
    functions and attributes) and sharing: two places hold one object in `a` exactly if they do in
    `b`. It ignores spans and source maps, the order of a target's attributes and of the module's
    index by name, and sharing of literals, of primitive, pointer, string and Any types, and of
    targets, arrays, maps and strings (`VALUES` in `source_graph`).
    """
    return first_difference(NodeGraph(a), NodeGraph(b))


def _stale(mod: tvm.IRModule) -> set[str]:
    """PrimFuncs whose type differs from that of their parameters and body; passes leave some."""
    return {
        gv.name_hint
        for gv, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
        and not structural_equal(tirx.PrimFunc(func.params, func.body, func.ret_type).ty, func.ty)
    }
