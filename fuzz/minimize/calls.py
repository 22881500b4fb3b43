"""Reductions over calls: the body of a function where it is called, instead of the function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from . import edit
from .change import Change, Inline
from .needs import matched
from .reduction import Edit
from .rewrite import rewritten
from .scopes import Bound, bounds_of, scopes_of


def inline_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a function of the module: what it does is done where it was called."""
    for gvar, func in edit.relax_functions(mod):
        name = gvar.name_hint
        users = {g.name_hint for g, f in mod.functions_items() if name in edit.references(f)}
        if users and name not in users:
            yield partial(_inlined, mod, name, func, users)


def inline_local_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a function that is bound inside another."""
    for gvar, func in edit.relax_functions(mod):
        for bound in bounds_of(func):
            local = bound.binding.value
            if isinstance(local, relax.Function) and bound.key not in edit.used_vars([local.body]):
                yield partial(_inlined_local, mod, gvar.name_hint, bound)


def lift_local_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a local function in place of the function that it is bound in, where none calls that."""
    called = set().union(*(edit.references(func) for _, func in mod.functions_items()))
    for gvar, func in edit.relax_functions(mod):
        for bound in scopes_of(func)[0].bounds if gvar.name_hint not in called else ():
            local = bound.binding.value
            if isinstance(local, relax.Function) and bound.key not in edit.used_vars([local.body]):
                change = Change(
                    inlined={bound.key: Inline(local.body)},
                    dropped={later.key for later in bound.scope.bounds[bound.place + 1 :]},
                    results={hash(func.body): bound.var},
                    params={gvar.name_hint: list(local.params)},
                    functions={gvar.name_hint},
                )
                yield partial(rewritten, mod, change)


def _inlined(
    mod: tvm.IRModule, name: str, func: relax.Function, users: set[str]
) -> tvm.IRModule | None:
    change = Change(functions=users, removed={name})
    for gvar, user in edit.relax_functions(mod):
        if gvar.name_hint not in users:
            continue
        for bound in bounds_of(user):
            value = bound.binding.value
            if _calls(value) and isinstance(value.op, GlobalVar) and value.op.name_hint == name:
                _put_in_line(change, bound, func)
            elif not bound.inner and name in edit.references(value):
                return None  # it is more than called
    return rewritten(mod, change)


def _inlined_local(mod: tvm.IRModule, name: str, local: Bound) -> tvm.IRModule | None:
    change = Change(dropped={local.key}, functions={name})
    for bound in bounds_of(mod[name]):
        value = bound.binding.value
        if local.key in bound.operands:
            if not _calls(value) or hash(value.op) != local.key:
                return None
            _put_in_line(change, bound, local.binding.value)
    return rewritten(mod, change)


def _calls(value: Any) -> bool:
    return isinstance(value, relax.Call)


def _put_in_line(change: Change, call: Bound, func: relax.Function) -> None:
    uses: dict[int, Any] = {}
    for param, arg in zip(func.params, call.binding.value.args, strict=False):
        uses[hash(param)] = arg
        uses |= matched(param.ty, arg.ty)
    change.inlined[call.key] = Inline(func.body, uses, copy=True)
    if any(isinstance(bound.binding.value, relax.If) for bound in bounds_of(func)):
        # A dataflow block has no branches.
        change.blocks[hash(call.scope.seq.blocks[call.block])] = False
