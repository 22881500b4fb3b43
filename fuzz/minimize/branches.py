"""Reductions over If: one branch in its place, or a condition that nothing computes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from . import edit
from .change import Change, Inline
from .reduction import Edit
from .rewrite import rewritten
from .scopes import Bound, bounds_of


def flatten_branches(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one branch of an If in its place."""
    for name, bound in _ifs(mod):
        for inner in bound.inner:
            change = Change(inlined={bound.key: Inline(inner.seq)}, functions={name})
            yield partial(rewritten, mod, change)


def settle_conditions(mod: tvm.IRModule) -> Iterator[Edit]:
    """With a condition that is a parameter, or else a constant."""
    for name, bound in _ifs(mod):
        cond = bound.binding.value.cond
        params = list(bound.params())
        rank = next((i for i, p in enumerate(params) if p.same_as(cond)), len(params))
        if isinstance(cond, relax.Var):
            for param in params[:rank]:
                if isinstance(param.ty, relax.TensorType) and str(param.ty.dtype) == "bool":
                    yield partial(_with_condition, mod, name, bound, param)
        if isinstance(cond, relax.Var) and rank == len(params):
            for truth in (True, False):
                yield partial(_with_condition, mod, name, bound, relax.const(truth, "bool"))


def _ifs(mod: tvm.IRModule) -> Iterator[tuple[str, Bound]]:
    for gvar, func in edit.relax_functions(mod):
        for bound in bounds_of(func):
            if isinstance(bound.binding.value, relax.If):
                yield gvar.name_hint, bound


def _with_condition(mod: tvm.IRModule, name: str, bound: Bound, cond: Any) -> tvm.IRModule | None:
    old = bound.binding.value
    new = relax.If(cond, old.true_branch, old.false_branch)
    relax.expr._update_type(new, old.ty)
    return rewritten(mod, Change(values={bound.key: new}, functions={name}))
