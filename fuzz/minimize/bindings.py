"""Reductions that drop bindings, those inside branches and local functions too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.scopes import Site, sites_of
from ...oracles.inspect import relax_functions
from .dropping import Kind, without
from .halving import long_runs, runs
from .needs import dead
from .reduction import Edit
from .stand_ins import constant, existing, operand, parameter, retyped, small_constant

CUT: tuple[Kind, ...] = (parameter, operand, existing, constant)
"""What was made comes from outside instead: all that it was made from may go too."""
SHORTEN: tuple[Kind, ...] = (operand, existing, parameter, constant)
"""What was made is what it was made from instead: `f(g(x))` becomes `f(x)`."""

MANY = 8
"""Bindings: a try on a large module costs as much as many on a small one."""
PARTS = 16
"""Of a function; shorter runs wait until it is smaller by other means."""


def drop_dead(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without bindings that no result depends on: of all functions, then of each."""
    found = {name: keys for name, func in _functions(mod) if (keys := dead(func))}
    if len(found) > 1:
        everything = set().union(*found.values())
        yield partial(Change(dropped=everything, functions=set(found)).apply, mod)
    for name, keys in found.items():
        yield partial(Change(dropped=keys, functions={name}).apply, mod)


def drop_many_bindings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a long run of the bindings of a large function; see `drop_bindings`."""
    for name, func in _functions(mod):
        for run in long_runs(sites_of(func), PARTS, least=MANY):
            yield from _without(mod, name, func, run)


def drop_bindings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a run of bindings, long runs first; something stands for what is still used."""
    for name, func in _functions(mod):
        for run in runs(sites_of(func)):
            yield from _without(mod, name, func, run)


def _without(
    mod: tvm.IRModule, name: str, func: relax.Function, run: Sequence[Site]
) -> Iterator[Edit]:
    gone = [(name, key) for site in run for key in _with_calls(site, func)]
    yield partial(without, mod, gone, SHORTEN)
    yield partial(without, mod, gone, CUT)


def shorten_chains(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without one binding, an operand of another type or a constant in its place."""
    for name, func in _functions(mod):
        for site in reversed(sites_of(func)):
            if not isinstance(site.binding.value, relax.Function):
                yield partial(without, mod, [(name, site.key)], (retyped,))
                if small_constant(site.var.ty) is not None:
                    yield partial(without, mod, [(name, site.key)], (constant,))


def _functions(mod: tvm.IRModule) -> Iterator[tuple[str, relax.Function]]:
    return ((gvar.name_hint, func) for gvar, func in relax_functions(mod))


def _with_calls(site: Site, func: relax.Function) -> Sequence[int]:
    """The binding; if it binds a function, the bindings that use that too."""
    if not isinstance(site.binding.value, relax.Function):
        return [site.key]
    users = [b.key for b in sites_of(func) if site.key in b.operands]
    return [site.key, *users]
