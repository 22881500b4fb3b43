"""Reductions of the number of PrimFuncs that are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import tvm
import tvm_ffi

from . import edit
from .halving import runs
from .kernels import kernels, referring
from .reduction import Edit


def merge_kernels(mod: tvm.IRModule) -> Iterator[Edit]:
    """One PrimFunc in place of equal ones, then of all that have the same type: groups, then pairs.

    A PrimFunc goes each time.
    """
    for groups in (_groups(mod, whole=True), _groups(mod, whole=False)):
        if len(groups) > 1:
            yield partial(_merged, mod, groups)
        for group in groups:
            for run in runs(group[1:]):
                yield partial(_merged, mod, [[group[0], *run]])


def _groups(mod: tvm.IRModule, *, whole: bool) -> list[list[str]]:
    """The names of PrimFuncs that are equal, or at least called in the same way."""
    found: dict[int, list[str]] = {}
    for name, func in kernels(mod).items():
        compared = func.without_attr("global_symbol") if whole else func.ty
        key = int(tvm_ffi.structural_hash(compared, map_free_vars=True))
        found.setdefault(key, []).append(name)
    return [group for group in found.values() if len(group) > 1]


def _merged(mod: tvm.IRModule, groups: Sequence[Sequence[str]]) -> tvm.IRModule:
    gvars = {str(gvar.name_hint): gvar for gvar in mod.get_global_vars()}
    stands = {name: gvars[first] for first, *others in groups for name in others}
    return edit.with_functions(
        mod,
        {
            gvar: referring(func, stands)
            for gvar, func in mod.functions_items()
            if gvar.name_hint not in stands
        },
    )
