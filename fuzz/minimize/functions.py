"""Reductions that drop functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import tvm

from ...generators.rewrite.dropping import constant, existing, operand, parameter, without
from ...generators.rewrite.nodes import reachable, references, with_functions
from ...generators.rewrite.scopes import sites_of
from ...oracles.inspect import attr, relax_functions
from .reduction import Edit, runs


def drop_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop runs of functions: first of unreferenced ones, then of the others.

    Calls of the dropped functions are dropped, too.
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


def publish_one_function(mod: tvm.IRModule) -> Iterator[Edit]:
    """Keep one private function, made public, with everything it refers to.

    It becomes public because a pass may ignore a private function without callers. Unreferenced
    functions are tried first.
    """
    references = _references(mod)
    called: set[str] = set().union(*references.values())
    private = [
        str(gvar.name_hint)
        for gvar, func in relax_functions(mod)
        if attr(func, "global_symbol") is None
    ]
    for name in sorted(private, key=lambda name: name in called):
        reached = reachable(references, [name])
        if len(reached) < len(mod.functions):
            yield partial(_only, mod, reached, public=name)


def _alone_or_with_callees(references: Mapping[str, set[str]], names: set[str]) -> list[set[str]]:
    """These functions with callees that only they need; then these functions alone."""
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
