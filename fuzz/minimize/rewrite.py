"""A module made again after a change, with what follows from that for callers and types."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar

from . import edit
from .change import Change
from .rewriter import Rewriter, Stuck

RUNS = 3
"""So often a function is made again, on average, before it is given up: functions that call one
another may change each other's types for ever."""


def rewritten(mod: tvm.IRModule, change: Change) -> tvm.IRModule | None:
    """The module after the change; None where types do not allow it.

    What the change does not reach stays the same node.
    """
    functions = dict(mod.functions_items())
    gvars = {gvar.name_hint: gvar for gvar in functions}
    funcs = {gvar.name_hint: func for gvar, func in functions.items()}
    for name in change.removed:
        del funcs[name]
    fresh: dict[str, Any] = {}
    for name, params in change.params.items():
        func = funcs[name]
        types = [param.ty for param in (*func.params, *params)]
        fresh[name] = _global_var(name, relax.FuncType(types, func.ret_ty, func.is_pure))
    changed = {*change.functions, *change.params, *_users(funcs, set(change.params))}
    todo = sorted(changed)
    for _ in range(RUNS * len(funcs) + 1):
        if not todo:
            return edit.with_functions(
                mod, {fresh.get(name, gvars[name]): func for name, func in funcs.items()}
            )
        name = todo.pop(0)
        old = funcs[name]
        if not isinstance(old, relax.Function):
            continue
        own = change if name in changed else Change()
        changed.discard(name)
        try:
            new = Rewriter(name, own, fresh).function(old, top=True)
        except Stuck:
            return None
        funcs[name] = new
        if not _equal(fresh[name].ty if name in fresh else old.ty, new.ty):
            fresh[name] = _global_var(name, new.ty)
            todo += [user for user in _users(funcs, {name}) if user not in todo]
    return None


def _global_var(name: str, ty: Any) -> Any:
    gvar = GlobalVar(name)
    relax.expr._update_type(gvar, ty)
    return gvar


def _users(funcs: dict[str, Any], names: Collection[str]) -> list[str]:
    """The functions that refer to these."""
    return [name for name, func in funcs.items() if not edit.references(func).isdisjoint(names)]


def _equal(a: Any, b: Any) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))
