"""Reductions that leave out bindings that only pass something on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.nodes import used_vars
from ...generators.rewrite.scopes import Site, sites_of
from ...oracles.inspect import relax_functions
from .halving import runs
from .reduction import Edit


def take_shortcuts(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without aliases, casts, and tuples that are taken apart: what they stand for instead."""
    for gvar, func in relax_functions(mod):
        sites = sites_of(func)
        tuples = {
            site.key: site.binding.value
            for site in sites
            if isinstance(site.binding.value, relax.Tuple)
        }
        short = [
            (site, target) for site in sites if (target := _passed_on(site, tuples)) is not None
        ]
        for run in runs(short):
            yield partial(_shortened, mod, gvar.name_hint, run)


def _passed_on(site: Site, tuples: dict[int, Any]) -> Any:
    value = site.binding.value
    if isinstance(value, relax.TupleGetItem):
        whole = tuples.get(hash(value.tuple_value), value.tuple_value)
        return whole.fields[value.index] if isinstance(whole, relax.Tuple) else None
    leaf = isinstance(value, relax.Var | relax.Tuple | tvm.ir.GenericConst | relax.ShapeExpr)
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
