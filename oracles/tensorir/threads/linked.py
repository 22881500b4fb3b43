"""Kernels put back where the host launches them, which SplitHostDevice has taken them from.

What a PrimFunc computes is then in one PrimFunc at every stage. The threads are those that the
launch asks for, which a device would run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from ....compat import ir
from ....compat.structural import structural_map
from ...errors import Unsupported
from ...inspect import attr, prim_funcs
from .launch import LAUNCH, extent, tag


def linked(func: tirx.PrimFunc, mod: tvm.IRModule) -> tirx.PrimFunc:
    """A PrimFunc without launches of kernels: the code of these stands in their place.

    Raises:
        Unsupported: a kernel that the module does not have.
    """

    def launched(stmt: Any) -> Any:
        call = stmt.value
        if not isinstance(call, tvm.ir.Call):
            return stmt
        if isinstance(call.op, tvm.ir.GlobalVar):
            return _body(mod[call.op], list(call.args), {})
        if getattr(call.op, "name", "") != LAUNCH:
            return stmt
        name, *args = call.args
        kernel = _named(mod, str(name.value))
        count = len(kernel.params)
        tags = list(map(str, call.attrs.launch_params))
        return _body(kernel, args[:count], dict(zip(tags, args[count:], strict=True)))

    body = structural_map(func.body, [(ir.Evaluate, launched)])
    return func if body.same_as(func.body) else func.with_body(body)


def _named(mod: tvm.IRModule, name: str) -> tirx.PrimFunc:
    for gvar, func in prim_funcs(mod):
        if name in (str(attr(func, "global_symbol")), str(gvar.name_hint)):
            return func
    raise Unsupported(f"kernel {name} that is not in the module")


def _body(kernel: tirx.PrimFunc, args: Sequence[Any], threads: Mapping[str, Any]) -> Any:
    """The body of a kernel on these arguments, in so many threads."""
    values = {param.__chandle__(): arg for param, arg in zip(kernel.params, args, strict=True)}

    def argument(var: Any) -> Any:
        return values.get(var.__chandle__(), var)

    def launch(stmt: Any) -> Any:
        size = threads.get(tag(stmt) or "")
        if size is None:
            return stmt
        size = tirx.Cast(extent(stmt).ty.dtype, size) if size.ty != extent(stmt).ty else size
        return ir.AttrStmt(stmt.node, stmt.attr_key, size, stmt.body)

    return structural_map(kernel.body, [(tirx.Var, argument), (ir.AttrStmt, launch)])
