"""Reductions over blocks, branches, and the results of sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.dropping import needed_for
from ...generators.rewrite.nodes import equal_types, used_vars
from ...generators.rewrite.scopes import BindingScope, scopes_of, sites_of
from ...oracles.inspect import relax_functions
from .reduction import Edit, landmarks, runs


def plain_blocks(mod: tvm.IRModule) -> Iterator[Edit]:
    """Use plain blocks instead of dataflow blocks, and one block instead of several in a row.

    This is tried on the whole module, then on runs of sequences, then on runs of blocks.
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
    """Replace an If by one of its branches."""
    for gvar, func in relax_functions(mod):
        for site in sites_of(func):
            for inner in site.inner if isinstance(site.binding.value, relax.If) else ():
                change = Change(inlined={site.key: inner.seq}, functions={gvar.name_hint})
                yield partial(change.apply, mod)


def return_less(mod: tvm.IRModule) -> Iterator[Edit]:
    """Return one part of a result, or an earlier value, or a parameter.

    Only landmarks among the values are tried, so that in a function of 1,000 bindings the number of
    tries grows with the logarithm.
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
    """Return an earlier value of the same type from a branch or a local function."""
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


def _returning(
    mod: tvm.IRModule, name: str, scope: BindingScope, choice: Any
) -> tvm.IRModule | None:
    """Set this result, and drop everything that only the old one needed, except effects."""
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
