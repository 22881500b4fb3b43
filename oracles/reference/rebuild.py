"""What the reference passes are made of: functions taken apart and put together again.

Nothing here changes a node that it is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, PrimType


def typed(expr: Any, ty: relax.Type) -> Any:
    """A new expression, told its type."""
    relax.expr._update_type(expr, ty)
    return expr


def sequence(blocks: Iterable[relax.BindingBlock], body: relax.Expr) -> relax.SeqExpr:
    """Blocks and a result; blocks without bindings are left out."""
    return typed(relax.SeqExpr([block for block in blocks if block.bindings], body), body.ty)


def block_like(block: relax.BindingBlock, bindings: list[relax.Binding]) -> relax.BindingBlock:
    """These bindings in a block that is dataflow if the other one is."""
    kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
    return kind(bindings)


def global_var(name: str, func: relax.Function) -> GlobalVar:
    """A new GlobalVar for the function."""
    return typed(GlobalVar(name), func.ty)


def unused(name: str, taken: Collection[str]) -> str:
    """The name, with a number where it is taken."""
    numbered = (f"{name}_{number}" for number in itertools.count(1))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def with_functions(
    mod: tvm.IRModule, functions: Mapping[GlobalVar, tvm.ir.BaseFunc]
) -> tvm.IRModule:
    """A module of these functions, with the attributes and global infos of the old one."""
    return tvm.IRModule(dict(functions), attrs=mod.attrs, global_infos=mod.global_infos)


def variables(*roots: Any) -> list[relax.Var]:
    """All variables inside, each once in order; symbolic ones and those of types among them."""
    found: list[relax.Var] = []
    for root in roots:
        tvm_ffi.structural_walk(root, (relax.Var, found.append))
    return list(dict.fromkeys(found))


def is_symbolic(var: relax.Var) -> bool:
    """It stands for a number, which may be a dimension."""
    return isinstance(var.ty, PrimType)


def substituted(root: Any, new: Mapping[Any, Any]) -> Any:
    """The same with other variables (or GlobalVars), where they are bound too."""
    if not new:
        return root
    return tvm_ffi.structural_map(
        root, ((relax.Var, GlobalVar), lambda var: new.get(var, var)), order="pre"
    )


def fresh(func: relax.Function) -> relax.Function:
    """The same function with variables of its own: two functions may share none."""
    found = sorted(variables(func), key=lambda var: not is_symbolic(var))
    new: dict[relax.Var, relax.Var] = {}
    for var in found:
        kind = relax.DataflowVar if isinstance(var, relax.DataflowVar) else relax.Var
        # Types are made of symbolic variables, which stand first.
        new[var] = kind(var.name, var.ty if is_symbolic(var) else substituted(var.ty, new))
    return substituted(func, new)


def blocks_of(root: relax.SeqExpr) -> Iterator[relax.BindingBlock]:
    """The blocks of a sequence and of all that are nested in it."""
    found: list[relax.BindingBlock] = []
    tvm_ffi.structural_walk(root, (relax.BindingBlock, found.append))
    return iter(found)


def rebuilt(
    func: relax.Function,
    *,
    params: Iterable[relax.Var] | None = None,
    body: relax.SeqExpr | None = None,
) -> relax.Function:
    """The function with another part; result type, purity and attributes stay."""
    return relax.Function(
        list(func.params if params is None else params),
        func.body if body is None else body,
        func.ret_ty,
        func.is_pure,
        func.attrs,
    )
