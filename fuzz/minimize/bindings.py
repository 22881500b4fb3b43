"""Reductions that drop bindings, pass by them, or use something earlier instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...compat import ir
from ...generators.rewrite.change import Change
from ...generators.rewrite.nodes import equal_types, substitute_by_hash, used_vars, with_type
from ...generators.rewrite.scopes import Site, sites_of
from ...oracles.inspect import relax_functions
from .dropping import (
    Replacement,
    constant,
    dead,
    existing,
    operand,
    parameter,
    retyped,
    small_constant,
    without,
)
from .reduction import Edit, long_runs, runs

CUT: tuple[Replacement, ...] = (parameter, operand, existing, constant)
"""What was made comes from outside instead: all that it was made from may go too."""
SHORTEN: tuple[Replacement, ...] = (operand, existing, parameter, constant)
"""What was made is what it was made from instead: `f(g(x))` becomes `f(x)`."""

MANY = 8
"""Bindings: a try on a large module costs as much as many on a small one."""
PARTS = 16
"""Of a function; shorter runs wait until it is smaller by other means."""


def drop_dead(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without bindings that no result depends on: of all functions, then of each."""
    found = {name: keys for name, func in _functions(mod) if (keys := dead(func))}
    if len(found) > 1:
        yield partial(Change(dropped=set().union(*found.values()), functions=set(found)).apply, mod)
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
    return [site.key, *[b.key for b in sites_of(func) if site.key in b.operands]]


def take_shortcuts(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without aliases, casts, and tuples that are taken apart: what they stand for instead."""
    for gvar, func in relax_functions(mod):
        sites = sites_of(func)
        values = {site.key: site.binding.value for site in sites}
        short = [
            (site, target) for site in sites if (target := _passed_on(site, values)) is not None
        ]
        for run in runs(short):
            yield partial(_shortened, mod, gvar.name_hint, run)


def _passed_on(site: Site, values: dict[int, Any]) -> Any:
    value = site.binding.value
    if isinstance(value, relax.TupleGetItem):
        whole = values.get(hash(value.tuple_value), value.tuple_value)
        return whole.fields[value.index] if isinstance(whole, relax.Tuple) else None
    leaf = isinstance(value, relax.Var | relax.Tuple | ir.GenericConst | relax.ShapeExpr)
    return value if leaf else None


def _shortened(
    mod: tvm.IRModule, name: str, run: Sequence[tuple[Site, Any]]
) -> tvm.IRModule | None:
    change = Change(functions={name}, dropped={site.key for site, _ in run})
    for site, target in run:
        change.uses[site.key] = target
        if not isinstance(site.var, relax.DataflowVar):
            change.plain |= used_vars([target])  # it may be used outside of the block
    return change.apply(mod)


def merge_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one parameter used for others of its type, runs of them first."""
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


def use_earlier(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a parameter, or what a value was made from, as an operand in its place.

    Of runs of bindings at once, then of one after the other. What is used instead was there
    before, so this ends.
    """
    for gvar, func in relax_functions(mod):
        sites = sites_of(func)
        made_by = {site.key: site for site in sites}
        for run in runs(sites):
            if len(run) > 1:
                yield partial(_only_params, mod, gvar.name_hint, made_by, run)
            else:
                for key, instead in _choices(run[0], made_by):
                    yield partial(_swapped, mod, gvar.name_hint, {run[0].key: {key: instead}}, run)


def _choices(site: Site, made_by: dict[int, Site]) -> Iterator[tuple[int, Any]]:
    own = site.operands
    for maker in _in_order(own, made_by):
        near = own | maker.operands
        earlier = [b for b in _in_order(near, made_by) if b.number < maker.number]
        params = [param for param in maker.params() if equal_types(param.ty, maker.var.ty)]
        for var in (*params[:1], *(param for param in params[1:] if hash(param) in near)):
            yield maker.key, var
        for source in earlier:
            if equal_types(source.var.ty, maker.var.ty):
                yield maker.key, source.var


def _in_order(keys: frozenset[int], made_by: dict[int, Site]) -> list[Site]:
    return sorted([made_by[key] for key in keys if key in made_by], key=lambda site: site.number)


def _only_params(
    mod: tvm.IRModule, name: str, made_by: dict[int, Site], run: Sequence[Site]
) -> tvm.IRModule | None:
    swaps: dict[int, dict[int, Any]] = {}
    for site in run:
        for key in site.operands & made_by.keys():
            ty = made_by[key].var.ty
            param = next((p for p in made_by[key].params() if equal_types(p.ty, ty)), None)
            if param is not None:
                swaps.setdefault(site.key, {})[key] = param
    return _swapped(mod, name, swaps, run) if swaps else None


def _swapped(
    mod: tvm.IRModule, name: str, swaps: dict[int, dict[int, Any]], run: Sequence[Site]
) -> tvm.IRModule | None:
    values = {
        site.key: _with_operands(site.binding.value, swaps[site.key])
        for site in run
        if site.key in swaps
    }
    new = [var for mapping in swaps.values() for var in mapping.values()]
    near = {b.key for b in run[0].scope.sites if b.block == run[0].block}
    plain = {hash(var) for var in new if isinstance(var, relax.DataflowVar)} - near
    return Change(values=values, plain=plain, functions={name}).apply(mod)


def _with_operands(value: Any, mapping: dict[int, Any]) -> Any:
    if not isinstance(value, relax.If):
        return substitute_by_hash(value, mapping)
    cond = substitute_by_hash(value.cond, mapping)
    return with_type(relax.If(cond, value.true_branch, value.false_branch), value.ty)
