"""Reductions over If: one branch in its place, or a condition that nothing computes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change, Inline
from ...generators.rewrite.scopes import Site, sites_of
from ...oracles.inspect import relax_functions
from .reduction import Edit


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
    new = relax.If(cond, old.true_branch, old.false_branch)
    relax.expr._update_type(new, old.ty)
    return Change(values={site.key: new}, functions={name}).apply(mod)
