"""Modules taken apart and put together: what reductions have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

Block = tuple[bool, list[Any]]
"""Whether it is a dataflow block, and its bindings."""


def relax_functions(mod: tvm.IRModule) -> Iterator[tuple[Any, relax.Function]]:
    """The Relax functions whose body is a sequence of blocks."""
    return (
        (gvar, func)
        for gvar, func in mod.functions_items()
        if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr)
    )


def references(func: Any) -> set[str]:
    """The names of the functions that this one, or a part of one, refers to."""
    names: set[str] = set()
    if not isinstance(func, relax.ExternFunc):
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, lambda g: names.add(g.name_hint)))
    return names


def with_functions(mod: tvm.IRModule, functions: dict[Any, Any]) -> tvm.IRModule:
    """A module of these functions, with the attributes and global infos of `mod`."""
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def used_vars(roots: Iterable[Any]) -> set[int]:
    """Hashes of the variables that occur; each expression's own place, not its type."""
    used: set[int] = set()
    for root in roots:
        tvm_ffi.structural_walk(root, (tvm.ir.Var, lambda var: used.add(hash(var))))
    return used


def substitute(root: Any, mapping: dict[int, Any]) -> Any:
    """The expression with other variables, by hash; types are left as they are."""
    return tvm_ffi.structural_map(
        root,
        [(tvm.ir.Var, lambda var: mapping.get(hash(var), var))],
    )
