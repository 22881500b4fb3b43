"""Reductions that drop whole functions of a module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import tvm

from ...generators.rewrite.nodes import references, with_functions
from ...generators.rewrite.scopes import sites_of
from ...oracles.inspect import attr, relax_functions
from .dropping import without
from .halving import runs
from .reduction import Edit
from .stand_ins import constant, existing, operand, parameter

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
        reached = _reachable(references, name)
        if len(reached) < len(mod.functions):
            yield partial(_only, mod, reached)
            if name in relax_names and attr(mod[name], "global_symbol") is None:
                yield partial(_published, mod, reached, name)


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
    below = set().union(*(_reachable(references, name) for name in names))
    rest = {name: used - names for name, used in references.items() if name not in names}
    needed = set().union(*(_reachable(rest, name) for name in rest.keys() - below))
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


def _only(mod: tvm.IRModule, names: set[str]) -> tvm.IRModule:
    kept = {g: f for g, f in mod.functions_items() if g.name_hint in names}
    return with_functions(mod, kept)


def _published(mod: tvm.IRModule, names: set[str], name: str) -> tvm.IRModule:
    kept = {g: f for g, f in mod.functions_items() if g.name_hint in names}
    public = {
        gvar: func.with_attr("global_symbol", name) if gvar.name_hint == name else func
        for gvar, func in kept.items()
    }
    return with_functions(mod, public)


def _references(mod: tvm.IRModule) -> dict[str, set[str]]:
    return {gvar.name_hint: references(func) for gvar, func in mod.functions_items()}


def _reachable(references: Mapping[str, set[str]], name: str) -> set[str]:
    reached: set[str] = set()
    todo = [name]
    while todo:
        name = todo.pop()
        if name not in reached and name in references:
            reached.add(name)
            todo += references[name]
    return reached
