"""Reductions that drop functions, or do what they do where they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ...generators.rewrite.change import Change, Inline
from ...generators.rewrite.nodes import reachable, references, used_vars, with_functions
from ...generators.rewrite.scopes import Site, scopes_of, sites_of
from ...oracles.inspect import attr, relax_functions
from .dropping import constant, existing, matched, operand, parameter, without
from .reduction import Edit, runs

FEW = 16
"""Kernels; more are dropped in runs, instead of keeping each alone."""


def keep_one_function(mod: tvm.IRModule) -> Iterator[Edit]:
    """Only one function, and what it refers to; those that none refers to first.

    A private one that nothing calls may mean nothing to a pass: it is tried as a public one, too.
    """
    references = _references(mod)
    called: set[str] = set().union(*references.values())
    relax_names = [gvar.name_hint for gvar, _ in relax_functions(mod)]
    kernels = [name for name in references if name not in relax_names]
    names = sorted(relax_names, key=lambda name: name in called)
    if len(kernels) <= FEW:
        names += kernels
    elif relax_names:
        yield partial(_only, mod, set(kernels).union(*(references[name] for name in kernels)))
    for name in names:
        reached = reachable(references, [name])
        if len(reached) < len(mod.functions):
            yield partial(_only, mod, reached)
            if name in relax_names and attr(mod[name], "global_symbol") is None:
                yield partial(_only, mod, reached, public=name)


def drop_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without runs of functions: first of those that none refers to, then of the others too.

    What called them goes with them.
    """
    references = _references(mod)
    used: set[str] = set().union(*references.values())
    for run in runs([name for name in references if name not in used]):
        for gone in _alone_or_with_callees(references, set(run)):
            if len(gone) < len(references):
                yield partial(_only, mod, set(references) - gone)
    for run in runs([name for name in references if name in used]):
        for gone in _alone_or_with_callees(references, set(run)):
            yield partial(_without_callees, mod, frozenset(gone), cut=True)
        if len(run) == 1:
            yield partial(_without_callees, mod, frozenset(run), cut=False)


def _alone_or_with_callees(references: Mapping[str, set[str]], names: set[str]) -> list[set[str]]:
    """These functions, with those that only they need; then they alone."""
    below = reachable(references, names)
    rest = {name: used - names for name, used in references.items() if name not in names}
    needed = reachable(rest, rest.keys() - below)
    return [below - needed, names] if below - needed > names else [names]


def _without_callees(mod: tvm.IRModule, names: frozenset[str], *, cut: bool) -> tvm.IRModule | None:
    gone = [
        (gvar.name_hint, site.key)
        for gvar, func in relax_functions(mod)
        if gvar.name_hint not in names and not names.isdisjoint(references(func))
        for site in sites_of(func)
        if not site.inner and not names.isdisjoint(references(site.binding.value))
    ]
    kinds = (operand, existing, parameter, constant)
    return without(mod, gone, kinds if not cut else (parameter, *kinds), names)


def _only(mod: tvm.IRModule, names: set[str], *, public: str | None = None) -> tvm.IRModule:
    kept = {
        gvar: func.with_attr("global_symbol", public) if gvar.name_hint == public else func
        for gvar, func in mod.functions_items()
        if gvar.name_hint in names
    }
    return with_functions(mod, kept)


def _references(mod: tvm.IRModule) -> dict[str, set[str]]:
    return {gvar.name_hint: references(func) for gvar, func in mod.functions_items()}


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
            callee = value.op if isinstance(value, relax.Call) else None
            if isinstance(callee, GlobalVar) and callee.name_hint == name:
                _put_in_line(change, site, func)
            elif not site.inner and name in references(value):
                return None  # it is more than called
    return change.apply(mod)


def _inlined_local(mod: tvm.IRModule, name: str, local: Site) -> tvm.IRModule | None:
    change = Change(dropped={local.key}, functions={name})
    for site in sites_of(mod[name]):
        value = site.binding.value
        if local.key in site.operands:
            if not isinstance(value, relax.Call) or hash(value.op) != local.key:
                return None
            _put_in_line(change, site, local.binding.value)
    return change.apply(mod)


def _put_in_line(change: Change, call: Site, func: relax.Function) -> None:
    uses: dict[int, Any] = {}
    for param, arg in zip(func.params, call.binding.value.args, strict=False):
        uses[hash(param)] = arg
        uses |= matched(param.ty, arg.ty)
    change.inlined[call.key] = Inline(func.body, uses, copy=True)
    if any(isinstance(site.binding.value, relax.If) for site in sites_of(func)):
        # A dataflow block has no branches.
        change.blocks[hash(call.scope.seq.blocks[call.block])] = False
