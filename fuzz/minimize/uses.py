"""Reductions over single uses of values: something that was there before is used instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from . import edit
from .change import Change
from .dropping import equal_types
from .halving import runs
from .reduction import Edit
from .rewrite import rewritten
from .scopes import Bound, bounds_of


def merge_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one parameter used for others of its type, runs of them first."""
    for gvar, func in edit.relax_functions(mod):
        used = edit.used_vars([func.body])
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
            yield partial(rewritten, mod, Change(uses=uses, functions={gvar.name_hint}))


def use_earlier(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a parameter, or what a value was made from, as an operand in its place.

    Of runs of bindings at once, then of one after the other. What is used instead was there
    before, so this ends.
    """
    for gvar, func in edit.relax_functions(mod):
        bounds = bounds_of(func)
        made_by = {bound.key: bound for bound in bounds}
        for run in runs(bounds):
            if len(run) > 1:
                yield partial(_only_params, mod, gvar.name_hint, made_by, run)
            else:
                for key, instead in _choices(run[0], made_by):
                    yield partial(_swapped, mod, gvar.name_hint, {run[0].key: {key: instead}}, run)


def _choices(bound: Bound, made_by: dict[int, Bound]) -> Iterator[tuple[int, Any]]:
    """The operands, each with what may be used in its place."""
    own = bound.operands
    for maker in _in_order(own, made_by):
        near = own | maker.operands
        earlier = [b for b in _in_order(near, made_by) if b.number < maker.number]
        params = [param for param in maker.params() if equal_types(param.ty, maker.var.ty)]
        for var in (*params[:1], *(param for param in params[1:] if hash(param) in near)):
            yield maker.key, var
        for source in earlier:
            if equal_types(source.var.ty, maker.var.ty):
                yield maker.key, source.var


def _in_order(keys: frozenset[int], made_by: dict[int, Bound]) -> list[Bound]:
    found = [made_by[key] for key in keys if key in made_by]
    return sorted(found, key=lambda bound: bound.number)


def _only_params(
    mod: tvm.IRModule, name: str, made_by: dict[int, Bound], run: Sequence[Bound]
) -> tvm.IRModule | None:
    """With the first parameter that fits for each operand of a run of bindings."""
    swaps: dict[int, dict[int, Any]] = {}
    for bound in run:
        for key in bound.operands & made_by.keys():
            ty = made_by[key].var.ty
            param = next((p for p in made_by[key].params() if equal_types(p.ty, ty)), None)
            if param is not None:
                swaps.setdefault(bound.key, {})[key] = param
    return _swapped(mod, name, swaps, run) if swaps else None


def _swapped(
    mod: tvm.IRModule, name: str, swaps: dict[int, dict[int, Any]], run: Sequence[Bound]
) -> tvm.IRModule | None:
    values = {
        bound.key: _with_operands(bound.binding.value, swaps[bound.key])
        for bound in run
        if bound.key in swaps
    }
    new = [var for mapping in swaps.values() for var in mapping.values()]
    plain = {hash(var) for var in new if isinstance(var, relax.DataflowVar)} - _near(run)
    return rewritten(mod, Change(values=values, plain=plain, functions={name}))


def _near(run: Sequence[Bound]) -> set[int]:
    """What is bound in the block of a single binding."""
    bound = run[0]
    return {b.key for b in bound.scope.bounds if b.block == bound.block}


def _with_operands(value: Any, mapping: dict[int, Any]) -> Any:
    if not isinstance(value, relax.If):
        return edit.substitute(value, mapping)
    cond = edit.substitute(value.cond, mapping)
    new = relax.If(cond, value.true_branch, value.false_branch)
    relax.expr._update_type(new, value.ty)
    return new
