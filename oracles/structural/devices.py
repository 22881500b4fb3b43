"""Devices: remaining kernels and public functions keep the virtual devices of their results, and
public functions also those of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ..identity import FailureKind
from ..inspect import calls_of, public_functions, tensor_types
from ..oracle import Breach, Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import excused
from ..violation import Violation

MOVED = "a kernel gives its result on another virtual device, or on none"
CALLED_ELSEWHERE = "a public function takes or gives a tensor on another virtual device, or on none"

Places = tuple[str, ...]
"""The virtual device of each tensor; an empty string if it has none."""


def check(runs: PassRuns) -> Violation | None:
    """The first kernel or public function whose tensors are on another device than before."""
    after = runs.direct.mod
    if after is None or not runs.mod.global_infos.get("vdevice") or runs.exempt("signature"):
        return None
    return _of_kernels(runs.mod, after) or _of_functions(runs.mod, after)


def _of_kernels(mod: tvm.IRModule, after: tvm.IRModule) -> Violation | None:
    """The first kernel with a result on another device, although its operands have not moved."""
    before = _results(mod)
    for (kernel, operands), places in _results(after).items():
        known = before.get((kernel, operands))
        if known is not None and not places <= known:
            expected, actual = sorted(known), sorted(places)
            detail = f"{kernel}, on operands on {operands}: expected {expected} but got {actual}"
            return Violation.titled(MOVED, detail)
    return None


def _of_functions(mod: tvm.IRModule, after: tvm.IRModule) -> Violation | None:
    """The first public function with a tensor on another device.

    A tensor without a device may get one. The device of a result must be that of the body, from
    which a pass infers its type.
    """
    there = {str(gvar.name_hint): func for gvar, func in public_functions(after)}
    for gvar, func in public_functions(mod):
        name = str(gvar.name_hint)
        before, places = _of_type(func), _of_type(there.get(name, func))
        given = _of_type(func, func.body.ty)
        if not len(before) == len(places) == len(given):
            continue  # the signature has changed, and the oracle `signature` reports it
        kept = zip(before, given, places, strict=True)
        lost = [was == own for was, own, now in kept if was not in ("", now)]
        detail = f"{name}: expected {before} but got {places}"
        if any(lost) or (lost and not excused(inventory.OVERSTATED, detail)):
            return Violation.titled(CALLED_ELSEWHERE, detail)
    return None


def _of_type(func: relax.Function, result: Any = None) -> Places:
    """The devices of the parameters, then of the result, by default as in the signature."""
    types = (*(p.ty for p in func.params), func.ret_ty if result is None else result)
    return tuple(place for ty in types for place in _places(ty))


def _results(mod: tvm.IRModule) -> Mapping[tuple[str, Places], set[Places]]:
    """The devices of results, by kernel and the devices of its operands."""
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
    breach=Breach(FailureKind.ILL_FORMED),
    tier=2,
    promise="A kernel that stays gives its results on the virtual devices on which it gave them.",
    source="docstring of relax.transform.RealizeVDevice, the pass that decides on devices: "
    "'Propagate virtual device information'",
    check=check,
)
