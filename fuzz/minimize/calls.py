"""Reductions over calls: the body of a function where it is called, instead of the function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ...generators.rewrite.change import Change, Inline
from ...generators.rewrite.nodes import references, used_vars
from ...generators.rewrite.scopes import Site, scopes_of, sites_of
from ...oracles.inspect import relax_functions
from .needs import matched
from .reduction import Edit


def inline_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a function of the module: what it does is done where it was called."""
    for gvar, func in relax_functions(mod):
        name = gvar.name_hint
        users = {g.name_hint for g, f in mod.functions_items() if name in references(f)}
        if users and name not in users:
            yield partial(_inlined, mod, name, func, users)


def inline_local_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a function that is bound inside another."""
    for gvar, func in relax_functions(mod):
        for site in sites_of(func):
            local = site.binding.value
            if isinstance(local, relax.Function) and site.key not in used_vars([local.body]):
                yield partial(_inlined_local, mod, gvar.name_hint, site)


def lift_local_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a local function in place of the function that it is bound in, where none calls that."""
    called = set().union(*(references(func) for _, func in mod.functions_items()))
    for gvar, func in relax_functions(mod):
        for site in scopes_of(func)[0].sites if gvar.name_hint not in called else ():
            local = site.binding.value
            if isinstance(local, relax.Function) and site.key not in used_vars([local.body]):
                change = Change(
                    inlined={site.key: Inline(local.body)},
                    dropped={later.key for later in site.scope.sites[site.index + 1 :]},
                    results={hash(func.body): site.var},
                    params={gvar.name_hint: list(local.params)},
                    functions={gvar.name_hint},
                )
                yield partial(change.apply, mod)


def _inlined(
    mod: tvm.IRModule, name: str, func: relax.Function, users: set[str]
) -> tvm.IRModule | None:
    change = Change(functions=users, removed={name})
    for gvar, user in relax_functions(mod):
        if gvar.name_hint not in users:
            continue
        for site in sites_of(user):
            value = site.binding.value
            if _calls(value) and isinstance(value.op, GlobalVar) and value.op.name_hint == name:
                _put_in_line(change, site, func)
            elif not site.inner and name in references(value):
                return None  # it is more than called
    return change.apply(mod)


def _inlined_local(mod: tvm.IRModule, name: str, local: Site) -> tvm.IRModule | None:
    change = Change(dropped={local.key}, functions={name})
    for site in sites_of(mod[name]):
        value = site.binding.value
        if local.key in site.operands:
            if not _calls(value) or hash(value.op) != local.key:
                return None
            _put_in_line(change, site, local.binding.value)
    return change.apply(mod)


def _calls(value: Any) -> bool:
    return isinstance(value, relax.Call)


def _put_in_line(change: Change, call: Site, func: relax.Function) -> None:
    uses: dict[int, Any] = {}
    for param, arg in zip(func.params, call.binding.value.args, strict=False):
        uses[hash(param)] = arg
        uses |= matched(param.ty, arg.ty)
    change.inlined[call.key] = Inline(func.body, uses, copy=True)
    if any(isinstance(site.binding.value, relax.If) for site in sites_of(func)):
        # A dataflow block has no branches.
        change.blocks[hash(call.scope.seq.blocks[call.block])] = False
