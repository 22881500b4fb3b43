"""Reductions over blocks, branches, and the results of sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change, Inline
from ...generators.rewrite.nodes import equal_types, used_vars, with_type
from ...generators.rewrite.scopes import Scope, Site, scopes_of, sites_of
from ...oracles.inspect import relax_functions
from .dropping import needed_for
from .reduction import Edit, landmarks, runs


def plain_blocks(mod: tvm.IRModule) -> Iterator[Edit]:
    """With plain blocks instead of dataflow blocks, and one instead of those in a row.

    Of the whole module, then of runs of sequences, then of runs of blocks.
    """
    found = [
        (gvar.name_hint, scope.seq)
        for gvar, func in relax_functions(mod)
        for scope in scopes_of(func)
        if len(scope.seq.blocks) > 1 or any(map(_is_dataflow, scope.seq.blocks))
    ]
    for run in runs(found):
        yield partial(_plain(run, [b for _, seq in run for b in seq.blocks]).apply, mod)
    for name, seq in found:
        blocks = [block for block in seq.blocks if _is_dataflow(block)]
        if len(seq.blocks) > 1:
            for part in runs(blocks):
                if len(part) < len(seq.blocks):
                    yield partial(_plain([(name, seq)], part).apply, mod)


def _plain(sequences: Sequence[tuple[str, Any]], blocks: Sequence[Any]) -> Change:
    return Change(
        blocks={hash(block): False for block in blocks},
        merged={hash(seq) for _, seq in sequences},
        functions={name for name, _ in sequences},
    )


def _is_dataflow(block: Any) -> bool:
    return isinstance(block, relax.DataflowBlock)


def flatten_branches(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one branch of an If in its place."""
    for name, site in _ifs(mod):
        for inner in site.inner:
            change = Change(inlined={site.key: Inline(inner.seq)}, functions={name})
            yield partial(change.apply, mod)


def settle_conditions(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a condition that is a parameter, or else a constant."""
    for name, site in _ifs(mod):
        cond = site.binding.value.cond
        params = list(site.params())
        rank = next((i for i, p in enumerate(params) if p.same_as(cond)), len(params))
        if isinstance(cond, relax.Var):
            for param in params[:rank]:
                if isinstance(param.ty, relax.TensorType) and str(param.ty.dtype) == "bool":
                    yield partial(_with_condition, mod, name, site, param)
        if isinstance(cond, relax.Var) and rank == len(params):
            for truth in (True, False):
                yield partial(_with_condition, mod, name, site, relax.const(truth, "bool"))


def _ifs(mod: tvm.IRModule) -> Iterator[tuple[str, Site]]:
    for gvar, func in relax_functions(mod):
        for site in sites_of(func):
            if isinstance(site.binding.value, relax.If):
                yield gvar.name_hint, site


def _with_condition(mod: tvm.IRModule, name: str, site: Site, cond: Any) -> tvm.IRModule | None:
    old = site.binding.value
    new = with_type(relax.If(cond, old.true_branch, old.false_branch), old.ty)
    return Change(values={site.key: new}, functions={name}).apply(mod)


def return_less(mod: tvm.IRModule) -> Iterator[Edit]:
    """One part of a result, or an earlier value, or nothing that was made.

    Landmarks among the values: in a function of 1,000 bindings the right one is found in a number
    of tries that grows with the logarithm.
    """
    for gvar, func in relax_functions(mod):
        body = scopes_of(func)[0]
        result = body.seq.body
        fields = list(result.fields) if isinstance(result, relax.Tuple) else []
        own = [site.var for site in body.sites]
        places = [own[place] for place in landmarks(len(own))]
        for choice in (*func.params[:1], *fields, *places):
            if not result.same_as(choice):
                yield partial(_returning, mod, gvar.name_hint, body, choice)
        for run in runs(list(range(len(fields)))) if len(fields) > 1 else ():
            if len(run) < len(fields):
                rest = [field for i, field in enumerate(fields) if i not in run]
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
            for choice in [same[place] for place in landmarks(len(same))]:
                if not scope.seq.body.same_as(choice):
                    yield partial(_returning, mod, gvar.name_hint, scope, choice)


def _tuple(fields: list[Any]) -> Any:
    if len(fields) == 1:
        return fields[0]
    return relax.BlockBuilder().normalize(relax.Tuple(fields))


def _returning(mod: tvm.IRModule, name: str, scope: Scope, choice: Any) -> tvm.IRModule | None:
    """With that result, without what only the old one needed; earlier effects may stay."""
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
