"""Reductions over whole functions of a module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm

from . import edit
from .reduction import Edit


def keep_one_function(mod: tvm.IRModule) -> Iterator[Edit]:
    """Only one function, and what it refers to."""
    for gvar in mod.get_global_vars():
        reached = _reachable(mod, gvar)
        if len(reached) < len(mod.functions):
            yield partial(_only, mod, reached)


def drop_functions(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without each of the functions that none refers to."""
    used = {name for _, func in mod.functions_items() for name in edit.references(func)}
    names = [gvar.name_hint for gvar in mod.get_global_vars()]
    for name in names:
        if name not in used and len(names) > 1:
            yield partial(_only, mod, set(names) - {name})


def _only(mod: tvm.IRModule, names: set[str]) -> tvm.IRModule:
    kept = {g: f for g, f in mod.functions_items() if g.name_hint in names}
    return edit.with_functions(mod, kept)


def _reachable(mod: tvm.IRModule, gvar: Any) -> set[str]:
    by_name = {g.name_hint: func for g, func in mod.functions_items()}
    reached: set[str] = set()
    todo = [gvar.name_hint]
    while todo:
        name = todo.pop()
        if name not in reached and name in by_name:
            reached.add(name)
            todo += edit.references(by_name[name])
    return reached
