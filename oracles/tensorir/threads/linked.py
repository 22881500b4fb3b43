"""Kernels put back into the host code that launches them, undoing SplitHostDevice.

One PrimFunc then has the whole computation at every stage. Its threads are those requested by the
launch, as on a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import tirx

from ....compat import ir
from ....compat.structural import structural_map
from ...inspect import attr, is_public, nodes, prim_funcs, relax_functions
from .launch import extent, tag

CALLS = ("tirx.call_ffi_kernel", "tirx.tvm_call_packed")
"""The calls by which the host calls a function by name: a kernel, or one of the runtime."""


def has_callees(mod: tvm.IRModule) -> bool:
    """True if SplitHostDevice may have split PrimFuncs, or PrimFuncs call private ones.

    Private PrimFuncs do not count in a module with Relax functions, since these call them.
    """
    found = [func for _, func in prim_funcs(mod)]
    if any(attr(func, "calling_conv") for func in found):
        return True
    return not all(map(is_public, found)) and not any(True for _ in relax_functions(mod))


def linked(func: tirx.PrimFunc, mod: tvm.IRModule) -> tirx.PrimFunc:
    """The PrimFunc with launches replaced by their kernels, and calls by the called PrimFuncs.

    If there are none, it is the PrimFunc itself.
    """

    def launched(stmt: Any) -> Any:
        call = stmt.value
        if not isinstance(call, tvm.ir.Call):
            return stmt
        if isinstance(call.op, tvm.ir.GlobalVar):
            return _body(mod[call.op], list(call.args))
        kernel = _called(call, mod)
        return stmt if kernel is None else _body(mod[kernel], list(call.args)[1:])

    body = structural_map(func.body, [(ir.Evaluate, launched)])
    return func if body.same_as(func.body) else func.with_body(body)


def kernels_of(func: tirx.PrimFunc, mod: tvm.IRModule) -> list[tvm.ir.GlobalVar]:
    """The PrimFuncs that a PrimFunc calls by name, as the host calls kernels."""
    found = (_called(call, mod) for call in nodes(func.body, tvm.ir.Call))
    return [gvar for gvar in found if gvar is not None]


def _called(call: tvm.ir.Call, mod: tvm.IRModule) -> tvm.ir.GlobalVar | None:
    if getattr(call.op, "name", "") not in CALLS:
        return None
    name = str(call.args[0].value)
    return next(
        (
            gvar
            for gvar, func in prim_funcs(mod)
            if name in (attr(func, "global_symbol"), str(gvar.name_hint))
        ),
        None,
    )


def _body(kernel: tirx.PrimFunc, args: Sequence[Any]) -> Any:
    """The body of a kernel on these arguments, which are followed by the extents of its threads."""
    args, sizes = args[: len(kernel.params)], args[len(kernel.params) :]
    tags = [str(name) for name in attr(kernel, "tirx.kernel_launch_params") or ()]
    threads = dict(zip(tags, sizes, strict=False))
    values = {param.__chandle__(): arg for param, arg in zip(kernel.params, args, strict=True)}

    def argument(var: Any) -> Any:
        return values.get(var.__chandle__(), var)

    def launch(stmt: Any) -> Any:
        size = threads.get(tag(stmt) or "")
        if size is None:
            return stmt
        size = ir.Cast(extent(stmt).ty.dtype, size) if size.ty != extent(stmt).ty else size
        return ir.AttrStmt(stmt.node, stmt.attr_key, size, stmt.body)

    return structural_map(kernel.body, [(tirx.Var, argument), (ir.AttrStmt, launch)])
