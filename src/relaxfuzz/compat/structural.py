"""Equality and rewriting of nodes by their structure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi
from tvm import relax

from . import ir

Entry = tuple[Any, Callable[[Any], Any]]
"""A class, or a tuple of classes, and what takes the place of each node of it."""


def structural_equal(a: object, b: object, *, map_free_vars: bool = False) -> bool:
    """Equality up to the renaming of bound variables; with `map_free_vars`, of free ones too."""
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=map_free_vars))


def structural_map(root: Any, entries: Entry | Sequence[Entry]) -> Any:
    """The node with each node of the entries' classes replaced, operands before their users."""
    if _copies_constants():
        return tvm_ffi.structural_map(root, entries)
    each = [entries] if isinstance(entries, tuple) and callable(entries[-1]) else entries
    constants = (
        ir.GenericConst,
        lambda const, mutator: _with_type(const, mutator.mutate(const.ty)),
    )
    return tvm_ffi.structural_mutate(root, [*map(_own_descent, each), constants])


@functools.cache
def _copies_constants() -> bool:
    """Whether this TVM has registered how to copy a constant, as `tvm_ffi.structural_map` does."""
    try:
        tvm_ffi.structural_map(relax.const(0), [])
    except TypeError:
        return False
    return True


def _own_descent(entry: Entry) -> tuple[Any, Callable[[Any, Any], Any]]:
    types, replaced = entry
    return types, lambda node, mutator: replaced(mutator.default_mutate(node))


def _with_type(const: Any, ty: Any) -> Any:
    return const if const.ty.same_as(ty) else ir.GenericConst(ir.constant_data(const), ty)
