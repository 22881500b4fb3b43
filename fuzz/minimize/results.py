"""Reductions that make a function return less, so that what made the rest is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.nodes import equal_types, used_vars
from ...generators.rewrite.scopes import Scope, scopes_of
from ...oracles.inspect import relax_functions
from .halving import landmarks, runs
from .needs import needed_for
from .reduction import Edit


def return_less(mod: tvm.IRModule) -> Iterator[Edit]:
    """One part of a result, or an earlier value, or nothing that was made.

    Landmarks among the values: in a function of 1,000 bindings the right one is found in a number
    of tries that grows with the logarithm.
    """
    for gvar, func in relax_functions(mod):
        body = scopes_of(func)[0]
        choices = [*func.params[:1], *_values(body)]
        for choice in choices:
            if not body.seq.body.same_as(choice):
                yield partial(_returning, mod, gvar.name_hint, body, choice)
        result = body.seq.body
        if isinstance(result, relax.Tuple) and len(result.fields) > 1:
            for run in runs(list(range(len(result.fields)))):
                if len(run) < len(result.fields):
                    rest = [f for i, f in enumerate(result.fields) if i not in run]
                    yield partial(_returning, mod, gvar.name_hint, body, _tuple(rest))


def shorten_branches(mod: tvm.IRModule) -> Iterator[Edit]:
    """Another result of a branch, or of a local function: a value of the same type before it."""
    for gvar, func in relax_functions(mod):
        for scope in scopes_of(func)[1:]:
            assert scope.around is not None
            outer = [*scope.around.params(), *scope.params]
            outer += [site.var for site in scope.around.before()]
            own = [site.var for site in scope.sites]
            same = [v for v in (*outer, *own) if equal_types(v.ty, scope.seq.body.ty)]
            places = [same[place] for place in landmarks(len(same))]
            for choice in places:
                if not scope.seq.body.same_as(choice):
                    yield partial(_returning, mod, gvar.name_hint, scope, choice)


def _values(body: Scope) -> list[Any]:
    result = body.seq.body
    fields = list(result.fields) if isinstance(result, relax.Tuple) else []
    own = [site.var for site in body.sites]
    return [*fields, *(own[place] for place in landmarks(len(own)))]


def _tuple(fields: list[Any]) -> Any:
    if len(fields) == 1:
        return fields[0]
    return relax.BlockBuilder().normalize(relax.Tuple(fields))


def _returning(mod: tvm.IRModule, name: str, scope: Scope, choice: Any) -> tvm.IRModule | None:
    """With that result, and without what only the old one needed.

    What nothing needed before it may be there for its effects: it stays, up to the chosen value.
    """
    roots = used_vars([choice])
    last = max((site.index for site in scope.sites if site.key in roots), default=-1)
    used = used_vars([scope.seq.body]).union(
        *(used_vars([site.binding.value]) for site in scope.sites)
    )
    roots |= {site.key for site in scope.sites[:last] if site.key not in used}
    change = Change(
        results={hash(scope.seq): choice},
        dropped={site.key for site in scope.sites} - needed_for(scope, roots),
        functions={name},
    )
    if isinstance(choice, relax.DataflowVar):
        change.plain.add(hash(choice))
    return change.apply(mod)
