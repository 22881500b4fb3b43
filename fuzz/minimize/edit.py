"""Modules taken apart and put together: what reductions have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

Block = tuple[bool, list[Any]]
"""Is it a dataflow block, and its bindings."""


# Functions of a module


def relax_functions(mod: tvm.IRModule) -> Iterator[tuple[Any, relax.Function]]:
    """The Relax functions whose body is a sequence of blocks."""
    return (
        (gvar, func)
        for gvar, func in mod.functions_items()
        if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr)
    )


def uncalled(mod: tvm.IRModule) -> Iterator[tuple[Any, relax.Function]]:
    """Functions whose signature may change: no function refers to them."""
    called = {name for _, func in mod.functions_items() for name in references(func)}
    return ((g, f) for g, f in relax_functions(mod) if g.name_hint not in called)


def references(func: Any) -> set[str]:
    """The names of the functions that this one, or a part of one, refers to."""
    names: set[str] = set()
    if not isinstance(func, relax.ExternFunc):
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, lambda g: names.add(g.name_hint)))
    return names


def with_functions(mod: tvm.IRModule, functions: dict[Any, Any]) -> tvm.IRModule:
    """A module of these functions, with the attributes and global infos of `mod`."""
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def with_function(mod: tvm.IRModule, gvar: Any, func: Any) -> tvm.IRModule:
    """The module with `func` in that place; a fresh GlobalVar where the signature is another."""
    functions = dict(mod.functions_items())
    old = functions[gvar]
    if tvm_ffi.structural_equal(old.ty, func.ty, map_free_vars=True):
        return with_functions(
            mod, {g: func if g.same_as(gvar) else f for g, f in functions.items()}
        )
    fresh = relax.GlobalVar(gvar.name_hint)
    relax.expr._update_type(fresh, func.ty)
    return with_functions(
        mod, {(fresh if g.same_as(gvar) else g): f for g, f in {**functions, gvar: func}.items()}
    )


# Bindings of a function


def blocks_of(func: relax.Function) -> list[Block]:
    """The blocks of the body."""
    return [
        (isinstance(block, relax.DataflowBlock), list(block.bindings)) for block in func.body.blocks
    ]


def rebuilt(
    func: relax.Function,
    blocks: list[Block],
    ret: Any,
    *,
    params: Sequence[Any] | None = None,
    ret_ty: Any = None,
) -> relax.Function:
    """The function with another body; its type is that of `ret`, if `ret_ty` says nothing else."""
    body = relax.SeqExpr(
        [
            (relax.DataflowBlock if dataflow else relax.BindingBlock)(bindings)
            for dataflow, bindings in blocks
            if bindings
        ],
        ret,
    )
    relax.expr._update_type(body, ret.ty)
    params = list(func.params) if params is None else list(params)
    return relax.Function(
        params, body, ret.ty if ret_ty is None else ret_ty, func.is_pure, func.attrs
    )


def used_vars(roots: Iterable[Any]) -> set[int]:
    """Hashes of the variables that occur; each expression's own place, not its type."""
    used: set[int] = set()
    for root in roots:
        tvm_ffi.structural_walk(root, (tvm.ir.Var, lambda var: used.add(hash(var))))
    return used


def live_blocks(blocks: list[Block], ret: Any) -> list[Block]:
    """The bindings that `ret` depends on."""
    needed = used_vars([ret])
    kept: list[Block] = []
    for dataflow, bindings in reversed(blocks):
        live: list[Any] = []
        for binding in reversed(bindings):
            if hash(binding.var) in needed:
                live.append(binding)
                needed |= used_vars([binding.value])
        kept.append((dataflow, live[::-1]))
    return kept[::-1]


def substitute(root: Any, mapping: dict[int, Any]) -> Any:
    """The expression with other variables, by hash; types are left as they are."""
    return tvm_ffi.structural_map(
        root,
        [(tvm.ir.Var, lambda var: mapping.get(hash(var), var))],
    )


def substitute_blocks(blocks: list[Block], mapping: dict[int, Any]) -> list[Block]:
    """The blocks with other variables, by hash, also where they are bound."""
    return [
        (dataflow, [substitute_binding(b, mapping) for b in bindings])
        for dataflow, bindings in blocks
    ]


def substitute_binding(binding: Any, mapping: dict[int, Any]) -> Any:
    """The binding with other variables."""
    value = substitute(binding.value, mapping)
    var = mapping.get(hash(binding.var), binding.var)
    if isinstance(binding, relax.MatchCast):
        return relax.MatchCast(var, value, binding.ty)
    return relax.VarBinding(var, value)


def plain(var: Any) -> Any:
    """A variable that may be a parameter or leave its dataflow block."""
    return relax.Var(var.name, var.ty) if isinstance(var, relax.DataflowVar) else var
