"""Replace the virtual devices of a piece by those of the module that receives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ...compat import ir
from ...compat.structural import structural_equal, structural_map
from ..rewrite.nodes import with_functions, with_type


def on_devices(mod: tvm.IRModule, devices: list[ir.VDevice]) -> tvm.IRModule:
    """The module on these devices; if there are none, its own devices are added to the list.

    TVM treats devices as the same only if they are the same node.
    """
    named = _named(mod)
    if not named:
        return mod
    devices += [] if devices else named

    def device(old: ir.VDevice) -> ir.VDevice:
        return devices[_place(old, named) % len(devices)]

    def call(old: relax.Call) -> relax.Call:
        attrs = _on_devices(old.attrs, device)
        if attrs is None:
            return old
        return with_type(relax.Call(old.op, old.args, attrs, old.ty_args), old.ty)

    return with_functions(
        mod,
        {
            gvar: structural_map(func, [(ir.VDevice, device), (relax.Call, call)])
            if isinstance(func, relax.Function)
            else func
            for gvar, func in mod.functions_items()
        },
    )


def _named(mod: tvm.IRModule) -> list[ir.VDevice]:
    """The devices that the module lists, then others that its types and attributes name."""
    named = list(mod.global_infos.get("vdevice", ()))

    def add(device: ir.VDevice) -> None:
        if _place(device, named) == len(named):
            named.append(device)

    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            tvm_ffi.structural_walk(func, (ir.VDevice, add))
    return named


def _place(device: ir.VDevice, among: Sequence[ir.VDevice]) -> int:
    """The index of the device among these; their number if it is not among them."""
    places = (at for at, each in enumerate(among) if structural_equal(each, device))
    return next(places, len(among))


def _on_devices(attrs: Any, device: Callable[[ir.VDevice], ir.VDevice]) -> Any:
    """The attributes on other devices, which no map of nodes reaches; None if they name none."""
    if attrs is None:
        return None
    fields = [str(field.name) for field in type(attrs).__tvm_ffi_type_info__.fields]
    named = {name: getattr(attrs, name) for name in fields}
    new = {name: device(old) for name, old in named.items() if isinstance(old, ir.VDevice)}
    return ir.with_fields(attrs, **new) if new else None
