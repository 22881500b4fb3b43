"""Reductions that make tuples inside of functions shorter."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.scopes import Site, sites_of
from ...oracles.inspect import relax_functions
from .halving import runs
from .reduction import Edit


def drop_tuple_fields(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without fields of tuples that are operands, and fields of tuples that nothing takes out."""
    for gvar, func in relax_functions(mod):
        sites = sites_of(func)
        for site in sites:
            value = site.binding.value
            if isinstance(value, relax.Tuple):
                taken = _taken(sites, site.key)
                free = [i for i in range(len(value.fields)) if i not in taken]
                for run in runs(free):
                    if len(run) < len(value.fields):
                        yield partial(_bound_without, mod, gvar.name_hint, site, frozenset(run))
            elif isinstance(value, relax.Call) and not _fixed(value):
                for place, arg in enumerate(value.args):
                    if isinstance(arg, relax.Tuple) and len(arg.fields) > 1:
                        for run in runs(range(len(arg.fields))):
                            if len(run) < len(arg.fields):
                                gone = frozenset(run)
                                yield partial(_call_without, mod, gvar.name_hint, site, place, gone)


def _fixed(call: relax.Call) -> bool:
    """The tuple of arguments has as many fields as the callee has parameters."""
    return isinstance(call.op, tvm.ir.Op) and call.op.name.startswith("relax.call_tir")


def _taken(sites: list[Site], key: int) -> set[int]:
    """The fields that are taken out of a tuple."""
    values = [site.binding.value for site in sites]
    return {
        int(value.index)
        for value in values
        if isinstance(value, relax.TupleGetItem) and hash(value.tuple_value) == key
    }


def _bound_without(
    mod: tvm.IRModule, name: str, site: Site, gone: Collection[int]
) -> tvm.IRModule | None:
    values: dict[int, Any] = {site.key: _without(site.binding.value, gone)}
    for user in sites_of(mod[name]):
        value = user.binding.value
        if isinstance(value, relax.TupleGetItem) and site.key in user.operands:
            index = value.index - sum(i < value.index for i in gone)
            values[user.key] = relax.TupleGetItem(value.tuple_value, index)
    return Change(values=values, functions={name}).apply(mod)


def _call_without(
    mod: tvm.IRModule, name: str, site: Site, place: int, gone: Collection[int]
) -> tvm.IRModule | None:
    call = site.binding.value
    args = [_without(arg, gone) if i == place else arg for i, arg in enumerate(call.args)]
    try:
        new = relax.BlockBuilder().normalize(relax.Call(call.op, args, call.attrs, call.ty_args))
    except Exception:  # the operator wants as many
        return None
    return Change(values={site.key: new}, functions={name}).apply(mod)


def _without(whole: relax.Tuple, gone: Collection[int]) -> Any:
    fields = [field for i, field in enumerate(whole.fields) if i not in gone]
    return relax.BlockBuilder().normalize(relax.Tuple(fields))
