"""Reductions that leave out bindings that only pass something on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from . import edit
from .change import Change
from .halving import runs
from .reduction import Edit
from .rewrite import rewritten
from .scopes import Bound, bounds_of


def take_shortcuts(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without aliases, casts, and tuples that are taken apart: what they stand for instead."""
    for gvar, func in edit.relax_functions(mod):
        bounds = bounds_of(func)
        tuples = {
            bound.key: bound.binding.value
            for bound in bounds
            if isinstance(bound.binding.value, relax.Tuple)
        }
        short = [
            (bound, target) for bound in bounds if (target := _passed_on(bound, tuples)) is not None
        ]
        for run in runs(short):
            yield partial(_shortened, mod, gvar.name_hint, run)


def _passed_on(bound: Bound, tuples: dict[int, Any]) -> Any:
    value = bound.binding.value
    if isinstance(value, relax.TupleGetItem):
        whole = tuples.get(hash(value.tuple_value), value.tuple_value)
        return whole.fields[value.index] if isinstance(whole, relax.Tuple) else None
    leaf = isinstance(value, relax.Var | relax.Tuple | tvm.ir.GenericConst | relax.ShapeExpr)
    return value if leaf else None


def _shortened(
    mod: tvm.IRModule, name: str, run: Sequence[tuple[Bound, Any]]
) -> tvm.IRModule | None:
    change = Change(functions={name}, dropped={bound.key for bound, _ in run})
    for bound, target in run:
        change.uses[bound.key] = target
        if not isinstance(bound.var, relax.DataflowVar):
            change.plain |= edit.used_vars([target])  # it may be used outside of the block
    return rewritten(mod, change)
