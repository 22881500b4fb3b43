"""Twins: modules with the same meaning as a given one; a pass must treat them the same."""

from __future__ import annotations

from collections.abc import Collection

import tvm

from ..graph import Graph
from ..inspect import bindings_of, is_public

PREFIX = "renamed_"


def unshared(mod: tvm.IRModule, only: Collection[int] | None = None) -> tvm.IRModule | None:
    """The module with a separate ShapeExpr node for every use; None if no node is shared.

    Args:
        only: the nodes of the module's graph to separate; None: all.
    """
    graph = Graph(mod)
    shapes = set(graph.of("ShapeExpr"))
    if only is not None:
        shapes &= set(only)
    used: set[int] = set()
    copied = False

    def own(index: int) -> int:
        nonlocal copied
        if index not in shapes:
            return index
        if index not in used:
            used.add(index)
            return index
        copied = True
        return graph.copy(index)

    graph.replace_uses(own)
    return graph.load() if copied else None


def renamed(mod: tvm.IRModule, kept: Collection[str] = ()) -> tvm.IRModule:
    """The module with other names for private functions and for bound variables.

    Parameters keep their names, since arguments of passes may name them.

    Args:
        kept: further names that stay.
    """
    graph = Graph(mod)
    params = {
        index
        for node in graph.nodes
        if node["type"] in ("relax.expr.Function", "tirx.PrimFunc")
        for index in graph.nodes[node["data"]["params"]]["data"]
    }
    for binding in list(graph.nodes):
        if binding["type"] in ("relax.expr.VarBinding", "relax.expr.MatchCast"):
            index = binding["data"]["var"]
            data = graph.nodes[index]["data"]
            if index not in params and graph.text(data["name"]) not in kept:
                data["name"] = graph.add("ffi.String", f"{PREFIX}{graph.text(data['name'])}")
    functions = graph.functions()
    for gvar, func in functions:
        if not graph.is_public(func) and graph.name(gvar) not in kept:
            graph.rename(gvar, f"{PREFIX}{graph.name(gvar)}")
    graph.set_functions(functions)
    return graph.load()


def names(mod: tvm.IRModule) -> list[str]:
    """The names that `renamed` changes, private functions first."""
    private = [str(gv.name_hint) for gv, f in mod.functions.items() if not is_public(f)]
    params = {
        str(param.name) for func in mod.functions.values() for param in getattr(func, "params", ())
    }
    bound = [str(binding.var.name) for binding in bindings_of(mod)]
    return list(dict.fromkeys([*private, *(name for name in bound if name not in params)]))


def reordered(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The module with its functions in the opposite order; None if there is only one."""
    functions = list(mod.functions.items())  # functions_items() sorts
    if len(functions) < 2:
        return None
    return tvm.IRModule(
        dict(reversed(functions)), attrs=mod.attrs or None, global_infos=mod.global_infos or None
    )


CYCLES = (
    ("add", "multiply", "subtract", "maximum", "minimum"),
    ("negative", "abs", "nn.relu"),
    ("exp", "tanh", "sigmoid", "sin", "cos"),
)
"""Operators without attributes that give the same types."""

OTHER = {
    f"relax.{op}": f"relax.{cycle[(i + 1) % len(cycle)]}"
    for cycle in CYCLES
    for i, op in enumerate(cycle)
}


def other_module(mod: tvm.IRModule) -> tvm.IRModule | None:
    """A module that computes something else under the same names and types; None if it cannot
    differ. It is not a twin, but represents an earlier module of the pass."""
    graph = Graph(mod)
    found = [node for node in graph.nodes if node["type"] == "ir.Op" and node["data"] in OTHER]
    for node in found:
        node["data"] = OTHER[node["data"]]
    return graph.load() if found else None
