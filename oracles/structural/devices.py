"""Devices: kernels that stay, and public functions, give their results on the virtual devices on
which they gave them, and a public function takes its arguments where it took them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import calls_of, public_functions, tensor_types
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..violation import Violation

MOVED = "a kernel gives its result on another virtual device, or on none"
CALLED_ELSEWHERE = "a public function takes or gives a tensor on another virtual device, or on none"

Places = tuple[str, ...]
"""A virtual device for each tensor; empty where it has none."""


def check(runs: PassRuns) -> Violation | None:
    """The first kernel or public function whose tensors live elsewhere."""
    after = runs.direct.mod
    if after is None or not runs.mod.global_infos.get("vdevice") or runs.exempt("signature"):
        return None
    return _of_kernels(runs.mod, after) or _of_functions(runs.mod, after)


def _of_kernels(mod: tvm.IRModule, after: tvm.IRModule) -> Violation | None:
    """Calls of one kernel on operands that live where they lived give results where they did."""
    before = _results(mod)
    for (kernel, operands), places in _results(after).items():
        known = before.get((kernel, operands))
        if known is not None and not places <= known:
            expected, actual = sorted(known), sorted(places)
            detail = f"{kernel}, on operands on {operands}: expected {expected} but got {actual}"
            return Violation.titled(MOVED, detail)
    return None


def _of_functions(mod: tvm.IRModule, after: tvm.IRModule) -> Violation | None:
    """A tensor of a public function's type that had no device may be given one."""
    there = {str(gvar.name_hint): func for gvar, func in public_functions(after)}
    for gvar, func in public_functions(mod):
        name = str(gvar.name_hint)
        before, places = _of_type(func), _of_type(there.get(name, func))
        if len(before) != len(places):
            continue  # it is called in another way, which the oracle `signature` reports
        if any(was not in ("", now) for was, now in zip(before, places, strict=True)):
            detail = f"{name}: expected {before} but got {places}"
            return Violation.titled(CALLED_ELSEWHERE, detail)
    return None


def _of_type(func: relax.Function) -> Places:
    """The devices of the parameters, then of the result."""
    return tuple(
        place for ty in (*(p.ty for p in func.params), func.ret_ty) for place in _places(ty)
    )


def _results(mod: tvm.IRModule) -> Mapping[tuple[str, Places], set[Places]]:
    """By kernel and the devices of its operands, the devices of its results."""
    found: dict[tuple[str, Places], set[Places]] = {}
    for call in calls_of(mod, "relax.call_tir"):
        kernel, operands = call.args[0], call.args[1]
        if isinstance(kernel, GlobalVar):
            key = str(kernel.name_hint), _places(operands.ty)
            found.setdefault(key, set()).add(_places(*call.ty_args))
    return found


def _places(ty: Any) -> Places:
    return tuple(_place(tensor) for tensor in tensor_types(ty))


def _place(tensor: relax.TensorType) -> str:
    device = tensor.vdevice
    if device is None:
        return ""
    return f"{device.target.kind.name}:{device.vdevice_id}:{device.memory_scope}"


ORACLE = Oracle(
    name="devices",
    failure=FailureKind.ILL_FORMED,
    tier=2,
    grade=Grade.B,
    cost=0.3,
    promise="A kernel that stays gives its results on the virtual devices on which it gave them.",
    source="docstring of relax.transform.RealizeVDevice, the pass that decides on devices: "
    "'Propagate virtual device information'",
    check=check,
    snippet="""\
def devices(mod):
    found = {}

    def visit(expr):
        if isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get("relax.call_tir"):
            places = [str(ty) for ty in (expr.args[1].ty, *expr.ty_args)]
            found.setdefault((expr.args[0].name_hint, places[0]), set()).add(places[1])

    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, visit)
    return found


def places(ty):
    if hasattr(ty, "fields"):
        return [place for field in ty.fields for place in places(field)]
    return [ty.vdevice] if hasattr(ty, "vdevice") else []


def of_types(mod):
    functions = {g.name_hint: f for g, f in mod.functions_items() if isinstance(f, relax.Function)}
    public = {n: f for n, f in functions.items() if f.attrs and "global_symbol" in f.attrs}
    return {
        name: [place for ty in (*(p.ty for p in f.params), f.ret_ty) for place in places(ty)]
        for name, f in public.items()
    }


result = apply(mod)
before, after = devices(mod), devices(result)
for kernel, made in after.items():
    if kernel in before:
        assert made <= before[kernel], f"{kernel}: {made}, expected {before[kernel]}"
types, others = of_types(mod), of_types(result)
for name in types.keys() & others.keys():
    for was, now in zip(types[name], others[name]):
        assert was is None or was == now, f"{name}: {types[name]} before, {others[name]} after"
""",
)
