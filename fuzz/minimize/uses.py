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
from .needs import operands
from .reduction import Edit
from .rewrite import rewritten
from .scopes import Bound, bounds_of


def merge_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one parameter used for others of its type, runs of them first."""
    for gvar, func in edit.relax_functions(mod):
        used = edit.used_vars([func.body])
        params = [param for param in func.params if hash(param) in used]
        merged = {
            hash(param): first
            for i, param in enumerate(params)
            for first in [p for p in params[:i] if equal_types(p.ty, param.ty)][:1]
        }
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
    own = operands(bound.binding.value)
    for maker in [earlier for earlier in bound.before() if earlier.key in own]:
        tried: set[int] = set()
        sources = operands(maker.binding.value)
        siblings = [b.var for b in maker.before() if b.key in own | sources]
        for var in (*maker.params(), *siblings):
            if equal_types(var.ty, maker.var.ty) and (not tried or hash(var) in own | sources):
                tried.add(hash(var))
                yield maker.key, var


def _only_params(
    mod: tvm.IRModule, name: str, made_by: dict[int, Bound], run: Sequence[Bound]
) -> tvm.IRModule | None:
    """With the first parameter that fits for each operand of a run of bindings."""
    swaps: dict[int, dict[int, Any]] = {}
    for bound in run:
        for key in operands(bound.binding.value) & made_by.keys():
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
