"""Equality of modules up to what no pass promises: names of private functions, and their copies."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm.error import InternalError

from ..errors import Unloadable
from ..inspect import global_vars, is_public
from ..metamorphic.graph import Graph


def equivalent(a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """Structurally equal, private functions compared by what they do instead of their names.

    Raises:
        Unloadable: see `canonical`.
    """
    return bool(tvm_ffi.structural_equal(a, b)) or bool(
        tvm_ffi.structural_equal(canonical(a), canonical(b))
    )


def canonical(mod: tvm.IRModule) -> tvm.IRModule:
    """Private functions named by first use from the public ones; equal ones merged.

    Private functions that no public one reaches are left out. Local functions stay as they are.

    Raises:
        Unloadable: other names can only be given on the way through JSON.
    """
    while True:
        mod = _renamed(mod, _by_first_use(mod))
        twin = _twins(mod)
        if not twin:
            return mod
        mod = _merged(mod, twin)


def _by_first_use(mod: tvm.IRModule) -> dict[str, str]:
    """New names of the functions that public ones reach, public ones first, by name."""
    functions = {gv.name_hint: func for gv, func in mod.functions_items()}
    queue = sorted(name for name, func in functions.items() if is_public(func))
    names = {name: name for name in queue}
    while queue:
        for gvar in global_vars(functions[queue.pop(0)]):
            name = gvar.name_hint
            if name in functions and name not in names:
                names[name] = f"private_{len(names)}"
                queue.append(name)
    return names


def _renamed(mod: tvm.IRModule, names: dict[str, str]) -> tvm.IRModule:
    if all(old == new for old, new in names.items()) and len(names) == len(mod.functions):
        return mod
    graph = Graph(mod)
    kept = [(gvar, func) for gvar, func in graph.functions() if graph.name(gvar) in names]
    for gvar, _ in kept:
        graph.rename(gvar, names[graph.name(gvar)])
    graph.set_functions(kept)
    return _loaded(graph, mod)


def _loaded(graph: Graph, mod: tvm.IRModule) -> tvm.IRModule:
    """The graph's module, where the one that it was made of can be loaded."""
    try:
        return graph.load()
    except InternalError:
        try:
            Graph(mod).load()
        except InternalError as error:
            raise Unloadable(str(error)) from error
        raise


def _twins(mod: tvm.IRModule) -> dict[str, str]:
    """Private functions that are equal to one before them."""
    seen: dict[int, str] = {}
    twins: dict[str, str] = {}
    for gvar, func in sorted(mod.functions_items(), key=lambda item: str(item[0].name_hint)):
        if is_public(func):
            continue
        name = str(gvar.name_hint)
        first = seen.setdefault(tvm_ffi.structural_hash(func, map_free_vars=True), name)
        if first != name and tvm_ffi.structural_equal(mod[first], func, map_free_vars=True):
            twins[name] = first
    return twins


def _merged(mod: tvm.IRModule, twins: dict[str, str]) -> tvm.IRModule:
    graph = Graph(mod)
    by_name = {graph.name(gvar): gvar for gvar, _ in graph.functions()}
    kept = [(gvar, func) for gvar, func in graph.functions() if graph.name(gvar) not in twins]
    for name, first in twins.items():
        graph.redirect(by_name[name], by_name[first])
    graph.set_functions(kept)
    return _loaded(graph, mod)
