"""Post-condition that passes share: each kernel can be launched on its target."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar
from tvm.target import Target

from ..contract import Post
from ..errors import Unsupported
from ..inspect import attr, calls_of, prim_funcs, tensor_types
from ..passcall import PassCall, target_of
from ..tensorir.threads.launch import Disagreement
from ..tensorir.threads.limits import Sizes, over_limits

CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def is_of_device(target: Target | None) -> bool:
    """True for the target of a device: BindTarget binds what computes sizes to the host."""
    return target is not None and "gpu" in target.keys


def over_limits_after(
    before: tvm.IRModule, after: tvm.IRModule, current: Target | None = None
) -> str | None:
    """Report a kernel that exceeds the limits of its target only after the pass: one that did so
    before may have been scheduled by hand for another device.

    Args:
        current: the target of kernels that are bound to none and called on no virtual device.
    """
    found = list(_excesses(after, current))
    given = {name for name, _ in _excesses(before, current)} if found else set()
    return next((excess for name, excess in found if name not in given), None)


def launchable(post: Post) -> Post:
    """The post-condition, and that kernels do not exceed the limits of their targets."""

    def both(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        wrong = post(before, after, call)
        return over_limits_after(before, after, target_of(call.config)) if wrong is None else wrong

    return both


def _excesses(mod: tvm.IRModule, current: Target | None) -> Iterator[tuple[str, str]]:
    """The excess of each kernel by its name: by itself, and with the sizes of each of its calls."""
    for gvar, func in prim_funcs(mod):
        yield from _excess(gvar, func, _target(func, current), None)
    for op in CALLS:
        for call in calls_of(mod, op):
            func = mod[call.args[0]] if isinstance(call.args[0], GlobalVar) else None
            if isinstance(func, tirx.PrimFunc) and (sizes := _sizes(func, call)):
                target = _target(func, _device(call, current))
                yield from _excess(call.args[0], func, target, sizes)


def _excess(
    gvar: GlobalVar, func: tirx.PrimFunc, target: Target | None, sizes: Sizes | None
) -> Iterator[tuple[str, str]]:
    """Describe what is wrong with the launch of a kernel on its target, if something is."""
    if not is_of_device(target):
        return
    name = str(gvar.name_hint)
    try:
        over = over_limits(func, target, sizes)
    except Disagreement as error:
        yield name, f"a kernel has two extents of one thread axis\n{name}: {error}"
        return
    except Unsupported:
        return
    if over is not None:
        what = over.partition(" ")[2].partition(",")[0]
        yield name, f"a kernel takes more {what} than its target has\n{name}: {over}"


def _target(func: tirx.PrimFunc, default: Target | None) -> Target | None:
    target = attr(func, "target")
    return default if target is None else target


def _device(call: relax.Call, default: Target | None) -> Target | None:
    """The target of the virtual device that the operands of a call are on."""
    devices = (tensor.vdevice for tensor in tensor_types(call.args[1].ty))
    return next((device.target for device in devices if device is not None), default)


def _sizes(func: tirx.PrimFunc, call: relax.Call) -> Sizes:
    """The values that a call gives to variables in the shapes of a PrimFunc, if they are numbers.

    Results are parameters, too, except of call_tir_inplace, where some of them are operands.
    """
    results = call.ty_args if call.op.name == CALLS[0] else ()
    types = itertools.chain.from_iterable(map(tensor_types, (call.args[1].ty, *results)))
    found = {}
    for param, ty in zip(func.params, types, strict=False):
        if isinstance(param.ty, tirx.BufferType) and isinstance(ty.shape, relax.ShapeExpr):
            for dim, size in zip(param.ty.shape, ty.shape.values, strict=False):
                if isinstance(dim, tirx.Var) and isinstance(size, tirx.IntImm):
                    found[dim.__chandle__()] = size
    return found
