"""Reductions over signatures and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from . import edit
from .reduction import Edit


def drop_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without parameters that nothing uses: all of them at once, then each."""
    for gvar, func in edit.uncalled(mod):
        used = edit.used_vars([func.body])
        unused = [i for i, param in enumerate(func.params) if hash(param) not in used]
        if len(unused) > 1:
            yield partial(_without_params, mod, gvar, func, frozenset(unused))
        for i in unused:
            yield partial(_without_params, mod, gvar, func, frozenset({i}))


def drop_attributes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without attributes and global infos, of the module and of its functions."""
    if mod.global_infos:
        yield lambda: tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs)
    for name in dict(mod.attrs) if mod.attrs else ():
        yield partial(mod.without_attr, name)
    for gvar, func in mod.functions_items():
        for name in dict(func.attrs) if func.attrs else ():
            if name != "global_symbol":
                yield partial(_without_attribute, mod, gvar, func, name)


def _without_attribute(mod: tvm.IRModule, gvar: Any, func: Any, name: str) -> tvm.IRModule:
    return edit.with_functions(mod, {**dict(mod.functions_items()), gvar: func.without_attr(name)})


def _without_params(
    mod: tvm.IRModule, gvar: Any, func: relax.Function, unused: frozenset[int]
) -> tvm.IRModule:
    params = [param for i, param in enumerate(func.params) if i not in unused]
    smaller = edit.rebuilt(
        func, edit.blocks_of(func), func.body.body, params=params, ret_ty=func.ret_ty
    )
    if func.attrs and "num_input" in func.attrs:
        inputs = int(func.attrs["num_input"])
        smaller = smaller.with_attr("num_input", inputs - sum(i < inputs for i in unused))
    return edit.with_function(mod, gvar, smaller)
