"""Parts of a module in which a fault is visible; elsewhere the module is equal by construction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import Op

from relaxfuzz.generators.rewrite.nodes import reachable, references, used_vars
from relaxfuzz.generators.rewrite.scopes import BindingSite, sites_of
from relaxfuzz.oracles.inspect import entries


def live(mod: tvm.IRModule) -> Iterator[tuple[str, tvm.ir.BaseFunc]]:
    """The functions that can be called from outside, and all functions that they may call."""
    functions = {str(gvar.name_hint): func for gvar, func in mod.functions_items()}
    calls = {name: references(func) for name, func in functions.items()}
    reached = reachable(calls, [str(gvar.name_hint) for gvar, _ in entries(mod)])
    return ((name, func) for name, func in functions.items() if name in reached)


def live_relax(mod: tvm.IRModule) -> Iterator[tuple[str, relax.Function]]:
    """The live Relax functions."""
    return ((name, func) for name, func in live(mod) if isinstance(func, relax.Function))


def live_kernels(mod: tvm.IRModule) -> Iterator[tuple[str, tirx.PrimFunc]]:
    """The live PrimFuncs."""
    return ((name, func) for name, func in live(mod) if isinstance(func, tirx.PrimFunc))


def live_sites(func: relax.Function) -> Iterator[BindingSite]:
    """The bindings that the result depends on, or that may have an effect."""
    sites = sites_of(func)
    values = {site.key: site.binding.value for site in sites}
    left = used_vars([func.body.body])
    left |= {site.key for site in sites if _may_refuse(site.binding) or is_impure(site.binding)}
    found: set[int] = set()
    while left:
        key = left.pop()
        if key in values and key not in found:
            found.add(key)
            left |= used_vars([values[key]])
    return (site for site in sites if site.key in found)


def _may_refuse(binding: Any) -> bool:
    """True for a cast, which checks its value even if nothing uses it."""
    return isinstance(binding, relax.MatchCast)


def is_impure(binding: Any) -> bool:
    """True for a call that may have effects besides its value."""
    value = binding.value
    if isinstance(binding, relax.MatchCast):
        return False
    if not isinstance(value, relax.Call) or _is_builtin(value):
        return False
    if isinstance(value.op, Op):
        purity = value.op.get_attr("FPurity")
        return purity is not None and not bool(purity)
    return isinstance(value.op, relax.ExternFunc) or not getattr(value.op.ty, "purity", True)


def _is_builtin(call: relax.Call) -> bool:
    """True for calls that the compiler may add: checks and copies of arguments, uses of memory."""
    name = str(getattr(call.op, "name", ""))
    called = call.args[0] if name == "relax.call_packed" else call.op
    if str(getattr(called, "global_symbol", "")).startswith("vm.builtin"):
        return True
    return any(word in name for word in ("alloc", "kill", "reset_matched", "memory"))
