"""Devices: a kernel that stays gives its results on the virtual devices on which it gave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import calls_of, tensor_types
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..violation import Violation

MOVED = "a kernel gives its result on another virtual device, or on none"

Places = tuple[str, ...]
"""A virtual device for each tensor; empty where it has none."""


def check(runs: PassRuns) -> Violation | None:
    """Calls of one kernel on operands that live where they lived give results where they did."""
    after = runs.direct.mod
    if after is None or not runs.mod.global_infos.get("vdevice") or runs.exempt("signature"):
        return None
    before = _results(runs.mod)
    for (kernel, operands), places in _results(after).items():
        known = before.get((kernel, operands))
        if known is not None and not places <= known:
            expected, actual = sorted(known), sorted(places)
            detail = f"{kernel}, on operands on {operands}: expected {expected} but got {actual}"
            return Violation.titled(MOVED, detail)
    return None


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


before, after = devices(mod), devices(apply(mod))
for kernel, places in after.items():
    if kernel in before:
        assert places <= before[kernel], f"{kernel}: {places}, expected {before[kernel]}"
""",
)
