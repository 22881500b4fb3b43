"""Reductions of the number of PrimFuncs that are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import tvm
import tvm_ffi

from ...generators.rewrite.nodes import with_functions
from .halving import runs
from .kernels import kernels, referring
from .reduction import Edit


def merge_all_kernels(mod: tvm.IRModule) -> Iterator[Edit]:
    """One PrimFunc in place of all of the same type, or of all equal ones."""
    for whole in (False, True):
        if groups := _groups(mod, whole=whole):
            yield partial(_merged, mod, groups)


def merge_kernels(mod: tvm.IRModule) -> Iterator[Edit]:
    """One PrimFunc in place of equal ones, then of those of the same type, in runs.

    A PrimFunc goes each time.
    """
    for whole in (True, False):
        for first, *others in _groups(mod, whole=whole):
            for run in runs(others):
                yield partial(_merged, mod, [[first, *run]])


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
    return with_functions(
        mod,
        {
            gvar: referring(func, stands)
            for gvar, func in mod.functions_items()
            if gvar.name_hint not in stands
        },
    )
