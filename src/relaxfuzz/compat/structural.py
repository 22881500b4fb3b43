"""Equality and rewriting of nodes by their structure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import tvm_ffi
from tvm import relax

from . import ir

NodeRewrite = tuple[Any, Callable[[Any], Any]]
"""A class, or a tuple of classes, and a function that gives the replacement of each node of it."""


def structural_equal(a: object, b: object, *, map_free_vars: bool = False) -> bool:
    """Equality up to renaming of bound variables and, with `map_free_vars`, of free ones too."""
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=map_free_vars))


def structural_map(
    root: Any,
    entries: NodeRewrite | Sequence[NodeRewrite],
    *,
    order: Literal["pre", "post"] = "post",
) -> Any:
    """The node with each node of the entries' classes replaced.

    Args:
        order: "post": operands before their users; "pre": the reverse.
    """
    if _copies_constants():
        return tvm_ffi.structural_map(root, entries, order=order)

    def descending(entry: NodeRewrite) -> tuple[Any, Callable[[Any, Any], Any]]:
        types, replaced = entry
        if order == "pre":
            return types, lambda node, mutator: inside(replaced(node), mutator)
        return types, lambda node, mutator: replaced(mutator.default_mutate(node))

    def inside(node: Any, mutator: Any) -> Any:
        is_constant = isinstance(node, ir.GenericConst)
        return constant(node, mutator) if is_constant else mutator.default_mutate(node)

    def constant(const: Any, mutator: Any) -> Any:
        ty = mutator.mutate(const.ty)
        return const if ty.same_as(const.ty) else ir.GenericConst(ir.constant_data(const), ty)

    each = [entries] if isinstance(entries, tuple) and callable(entries[-1]) else entries
    return tvm_ffi.structural_mutate(root, [*map(descending, each), (ir.GenericConst, constant)])


@functools.cache
def _copies_constants() -> bool:
    """True if this TVM can copy a constant, as `tvm_ffi.structural_map` needs to."""
    try:
        tvm_ffi.structural_map(relax.const(0), [])
    except TypeError:
        return False
    return True
