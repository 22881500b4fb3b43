"""The PrimFuncs of a module, and the replacement of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat.structural import structural_map
from ...generators.rewrite.nodes import rebuilt, references, with_functions
from ...oracles.inspect import nodes, prim_funcs
from . import kernels_tree as tree
from .kernels_tree import BodyNode, Change
from .reduction import Edit, runs

HAS_BLOCKS = "s_tir"
"""The attribute of PrimFuncs that may have blocks; without it, TVM refuses their script."""

Places = list[tuple[str, BodyNode]]
"""Nodes, each with the name of its PrimFunc."""


def kernels(mod: tvm.IRModule) -> dict[str, tirx.PrimFunc]:
    """The PrimFuncs of a module, by name."""
    return {str(gvar.name_hint): func for gvar, func in prim_funcs(mod)}


def buffer_types(mod: tvm.IRModule) -> Iterator[relax.TensorType]:
    """The types of the buffers among the parameters of PrimFuncs."""
    for func in kernels(mod).values():
        yield from nodes(func.ty, relax.TensorType)


def places(mod: tvm.IRModule) -> Places:
    """The nodes of all PrimFuncs."""
    return [
        (name, place) for name, func in kernels(mod).items() for place in tree.places(func.body)
    ]


def with_changes(mod: tvm.IRModule, changes: Sequence[tuple[str, int, Change]]) -> tvm.IRModule:
    """Change nodes, each given by its PrimFunc and its number in the body."""
    by_name: dict[str, dict[int, Change]] = {}
    for name, number, change in changes:
        by_name.setdefault(name, {})[number] = change
    old = kernels(mod)
    return with_kernels(
        mod,
        {
            name: rebuilt(old[name], tree.changed(old[name].body, numbered))
            for name, numbered in by_name.items()
        },
    )


def changed_in_runs(mod: tvm.IRModule, found: Places, change: Change) -> Iterator[Edit]:
    """Make the change at all of these nodes, then at ever shorter runs of them."""
    for run in runs(found):
        yield partial(with_changes, mod, [(name, place.number, change) for name, place in run])


def with_kernels(mod: tvm.IRModule, new: Mapping[str, tirx.PrimFunc]) -> tvm.IRModule:
    """Replace these PrimFuncs; references to those whose types change are updated."""
    functions: dict[Any, Any] = {}
    moved: dict[str, Any] = {}
    for gvar, func in mod.functions_items():
        func = new.get(gvar.name_hint, func)
        if gvar.name_hint in new and not tvm_ffi.structural_equal(
            gvar.ty, func.ty, map_free_vars=True
        ):
            gvar = moved[gvar.name_hint] = relax.GlobalVar(gvar.name_hint)
            relax.expr._update_type(gvar, func.ty)
        functions[gvar] = func
    if moved:
        functions = {gvar: referring(func, moved) for gvar, func in functions.items()}
    return with_functions(mod, functions)


def referring(func: Any, gvars: Mapping[str, Any]) -> Any:
    """Replace the GlobalVars with these names in the function."""
    if not references(func) & gvars.keys():
        return func
    return structural_map(func, [(tvm.ir.GlobalVar, lambda gvar: gvars.get(gvar.name_hint, gvar))])
