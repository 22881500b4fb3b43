"""Equality of modules up to things no pass promises: private functions' names and duplicates."""

from __future__ import annotations

from collections.abc import Mapping

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar

from ...compat.structural import structural_map
from ...generators.rewrite.nodes import global_var, with_functions
from .. import keys
from ..inspect import global_vars, is_public
from ..violation import Violation


def equivalent(a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """Structural equality in which private functions are compared by behaviour instead of name."""
    return bool(tvm_ffi.structural_equal(a, b)) or bool(
        tvm_ffi.structural_equal(canonical(a), canonical(b))
    )


def difference(a: tvm.IRModule, b: tvm.IRModule, what: str) -> Violation | None:
    """The first place where two modules differ that are not `equivalent`, without compiled code.

    Args:
        what: see `keys.mismatch`.
    """
    a, b = keys.comparable(a), keys.comparable(b)
    return None if equivalent(a, b) else keys.mismatch(canonical(a), canonical(b), what)


def canonical(mod: tvm.IRModule) -> tvm.IRModule:
    """The module with private functions named by first use, and equal ones merged.

    Private functions that no public one reaches are left out. Local functions stay as they are.
    """
    while True:
        mod = _renamed(mod, _by_first_use(mod))
        twin = _twins(mod)
        if not twin:
            return mod
        mod = _merged(mod, twin)


def _by_first_use(mod: tvm.IRModule) -> dict[str, str]:
    """New names of the functions reachable from public ones; public ones come first, by name."""
    functions = {gv.name_hint: func for gv, func in mod.functions_items()}
    queue = sorted(name for name, func in functions.items() if is_public(func))
    names = {name: name for name in queue}
    while queue:
        for gvar in global_vars(functions[queue.pop(0)]):
            name = gvar.name_hint
            if name in functions and name not in names:
                names[name] = f"private_{len(names)}"
                queue.append(name)
    return names


def _renamed(mod: tvm.IRModule, names: Mapping[str, str]) -> tvm.IRModule:
    """The functions with a new name, keyed by that name."""
    if all(old == new for old, new in names.items()) and len(names) == len(mod.functions):
        return mod
    kept = {gvar: func for gvar, func in mod.functions_items() if gvar.name_hint in names}
    new = {gvar: global_var(names[gvar.name_hint], gvar.ty) for gvar in kept}
    return _redirected(mod, kept, new)


def _redirected(
    mod: tvm.IRModule,
    functions: Mapping[GlobalVar, tvm.ir.BaseFunc],
    new: Mapping[GlobalVar, GlobalVar],
) -> tvm.IRModule:
    """The module with only these functions, and with other GlobalVars at all their uses."""
    replaced = GlobalVar, lambda gvar: new.get(gvar, gvar)
    made = {
        new[gvar]: func if isinstance(func, relax.ExternFunc) else structural_map(func, replaced)
        for gvar, func in functions.items()
    }
    return with_functions(mod, made)


def _twins(mod: tvm.IRModule) -> dict[str, str]:
    """Private functions that equal an earlier one."""
    seen: dict[int, str] = {}
    twins: dict[str, str] = {}
    for gvar, func in sorted(mod.functions_items(), key=lambda item: str(item[0].name_hint)):
        if is_public(func):
            continue
        name = str(gvar.name_hint)
        first = seen.setdefault(tvm_ffi.structural_hash(func, map_free_vars=True), name)
        if first != name and tvm_ffi.structural_equal(mod[first], func, map_free_vars=True):
            twins[name] = first
    return twins


def _merged(mod: tvm.IRModule, twins: Mapping[str, str]) -> tvm.IRModule:
    kept = {gvar: func for gvar, func in mod.functions_items() if gvar.name_hint not in twins}
    gvars = mod.get_global_vars()
    by_name = {gvar.name_hint: gvar for gvar in gvars}
    new = {gvar: by_name[twins.get(gvar.name_hint, gvar.name_hint)] for gvar in gvars}
    return _redirected(mod, kept, new)
