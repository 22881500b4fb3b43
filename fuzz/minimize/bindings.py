"""Reductions that drop bindings, bypass them, or use an earlier value instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.dropping import (
    CUT,
    SHORTEN,
    constant,
    dead,
    retyped,
    small_constant,
    without,
)
from ...generators.rewrite.nodes import equal_types, used_vars
from ...generators.rewrite.scopes import BindingSite, sites_of
from ...oracles.inspect import relax_functions
from .reduction import Edit, long_runs, runs

MANY = 8
"""Least bindings of a long run: a try on a large module costs as much as many on a small one."""
PARTS = 16
"""Number of parts of a function; shorter runs wait until it has shrunk by other means."""


def drop_dead(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop bindings on which no result depends: in all functions, then in each."""
    found = {name: keys for name, func in _functions(mod) if (keys := dead(func))}
    if len(found) > 1:
        yield partial(Change(dropped=set().union(*found.values()), functions=set(found)).apply, mod)
    for name, keys in found.items():
        yield partial(Change(dropped=keys, functions={name}).apply, mod)


def drop_many_bindings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop a long run of the bindings of a large function; see `drop_bindings`."""
    for name, func in _functions(mod):
        for run in long_runs(sites_of(func), PARTS, least=MANY):
            yield from _without(mod, name, func, run)


def drop_bindings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop a run of bindings, long runs first; values still in use get a replacement."""
    for name, func in _functions(mod):
        for run in runs(sites_of(func)):
            yield from _without(mod, name, func, run)


def _without(
    mod: tvm.IRModule, name: str, func: relax.Function, run: Sequence[BindingSite]
) -> Iterator[Edit]:
    gone = [(name, key) for site in run for key in _with_calls(site, func)]
    yield partial(without, mod, gone, SHORTEN)
    yield partial(without, mod, gone, CUT)


def shorten_chains(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop one binding, and use an operand of another type or a constant instead."""
    for name, func in _functions(mod):
        for site in reversed(sites_of(func)):
            if not isinstance(site.binding.value, relax.Function):
                yield partial(without, mod, [(name, site.key)], (retyped,))
                if small_constant(site.var.ty) is not None:
                    yield partial(without, mod, [(name, site.key)], (constant,))


def _functions(mod: tvm.IRModule) -> Iterator[tuple[str, relax.Function]]:
    return ((gvar.name_hint, func) for gvar, func in relax_functions(mod))


def _with_calls(site: BindingSite, func: relax.Function) -> Sequence[int]:
    """The binding; for one that binds a function, also the bindings that use the function."""
    if not isinstance(site.binding.value, relax.Function):
        return [site.key]
    return [site.key, *[b.key for b in sites_of(func) if site.key in b.operands]]


def merge_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Use one parameter instead of others of its type, first instead of runs of them."""
    for gvar, func in relax_functions(mod):
        used = used_vars([func.body])
        kept: list[Any] = []
        merged: dict[int, Any] = {}
        for param in func.params:
            if hash(param) not in used:
                continue
            like = next((other for other in kept if equal_types(other.ty, param.ty)), None)
            if like is None:
                kept.append(param)
            else:
                merged[hash(param)] = like
        for run in runs(list(merged)):
            uses = {key: merged[key] for key in run}
            yield partial(Change(uses=uses, functions={gvar.name_hint}).apply, mod)
