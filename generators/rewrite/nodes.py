"""Helpers to take Relax nodes apart and to construct new ones. None changes a node it is given."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, PrimType


def with_type(expr: Any, ty: relax.Type) -> Any:
    """A new expression, with its type set."""
    relax.expr._update_type(expr, ty)
    return expr


def sequence(blocks: Iterable[relax.BindingBlock], body: relax.Expr) -> relax.SeqExpr:
    """Blocks and a result; blocks without bindings are left out."""
    return with_type(relax.SeqExpr([block for block in blocks if block.bindings], body), body.ty)


def block_like(block: relax.BindingBlock, bindings: list[relax.Binding]) -> relax.BindingBlock:
    """These bindings in a block of the same kind, dataflow or not."""
    kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
    return kind(bindings)


def with_parts(
    func: relax.Function,
    *,
    params: Iterable[relax.Var] | None = None,
    body: relax.Expr | None = None,
    ret_ty: relax.Type | None = None,
) -> relax.Function:
    """The function with other parts; purity and attributes stay."""
    return relax.Function(
        list(func.params if params is None else params),
        func.body if body is None else body,
        func.ret_ty if ret_ty is None else ret_ty,
        func.is_pure,
        func.attrs,
    )


def global_var(name: str, ty: relax.Type) -> GlobalVar:
    """A new GlobalVar for a function of this type."""
    return with_type(GlobalVar(name), ty)


def with_functions(
    mod: tvm.IRModule, functions: Mapping[GlobalVar, tvm.ir.BaseFunc]
) -> tvm.IRModule:
    """A module of these functions, with the attributes and global infos of `mod`."""
    return tvm.IRModule(dict(functions), attrs=mod.attrs, global_infos=mod.global_infos)


def unused_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number appended where it is taken."""
    numbered = (f"{name}_{number}" for number in itertools.count(1))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def references(func: Any) -> set[str]:
    """The names of the functions that a function, or a part of one, refers to."""
    names: set[str] = set()
    if not isinstance(func, relax.ExternFunc):
        tvm_ffi.structural_walk(func, (GlobalVar, lambda gvar: names.add(gvar.name_hint)))
    return names


def variables(*roots: Any) -> list[relax.Var]:
    """All variables inside, each once in order, symbolic ones and those of types included."""
    found: list[relax.Var] = []
    for root in roots:
        tvm_ffi.structural_walk(root, (relax.Var, found.append))
    return list(dict.fromkeys(found))


def used_vars(roots: Iterable[Any]) -> set[int]:
    """The hashes of all variables inside: a variable's hash is that of its node."""
    used: set[int] = set()
    for root in roots:
        tvm_ffi.structural_walk(root, (tvm.ir.Var, lambda var: used.add(hash(var))))
    return used


def is_symbolic(var: relax.Var) -> bool:
    """It stands for a number, which may be a dimension."""
    return isinstance(var.ty, PrimType)


def substitute(root: Any, new: Mapping[Any, Any]) -> Any:
    """The same with other variables (or GlobalVars), where they are bound too."""
    if not new:
        return root
    return tvm_ffi.structural_map(
        root, ((relax.Var, GlobalVar), lambda var: new.get(var, var)), order="pre"
    )


def substitute_by_hash(root: Any, new: Mapping[int, Any]) -> Any:
    """The same with other expressions for variables, named by hash; types are left as they are."""
    return tvm_ffi.structural_map(root, [(tvm.ir.Var, lambda var: new.get(hash(var), var))])


def with_fresh_variables(func: relax.Function) -> relax.Function:
    """A copy of the function with variables of its own: two functions may share none."""
    found = sorted(variables(func), key=lambda var: not is_symbolic(var))
    new: dict[relax.Var, relax.Var] = {}
    for var in found:
        kind = relax.DataflowVar if isinstance(var, relax.DataflowVar) else relax.Var
        # Types contain symbolic variables, which stand first.
        new[var] = kind(var.name, var.ty if is_symbolic(var) else substitute(var.ty, new))
    return substitute(func, new)


def equal_types(a: Any, b: Any) -> bool:
    """The same type, in terms of the same symbolic dimensions."""
    return bool(a.same_as(b)) or bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))


def all_same(new: Collection[Any], old: Collection[Any]) -> bool:
    """The very same nodes in the same order."""
    return len(new) == len(old) and all(a.same_as(b) for a, b in zip(new, old, strict=True))
