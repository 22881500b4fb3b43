"""Passes that depend on more than the module, with one mistake each."""

from __future__ import annotations

import uuid
from typing import Any

import tvm
from helpers import static_shape
from tvm import relax, te, tirx, topi


def is_labelled(func: tvm.ir.BaseFunc) -> bool:
    """It is for a library, or a kernel to be."""
    return any(name in (func.attrs or {}) for name in ("Primitive", "Composite", "Codegen"))


@relax.expr_functor.mutator
class ClipLowerer(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Calls of clip become calls of kernels, which it keeps."""

    def __init__(self, mod: tvm.IRModule, kernels: dict[Any, tirx.PrimFunc]) -> None:
        super().__init__(mod)
        self.kernels = kernels

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.clip":
            return call
        x, low, high = call.args
        shape, dtype = static_shape(x), str(x.ty.dtype)
        numbers = all(isinstance(bound, tirx.IntImm | tirx.FloatImm) for bound in (low, high))
        if shape is None or not numbers or dtype not in ("float32", "float64"):
            return call
        key = (tuple(shape), dtype)
        if key not in self.kernels:
            data = te.placeholder(shape, dtype, name="x")
            clipped = topi.clip(data, float(low.value), float(high.value))
            kernel = te.create_prim_func([data, clipped])
            self.kernels[key] = kernel.without_attr("global_symbol")
        gvar = self.builder_.add_func(self.kernels[key], "clip")
        return relax.call_tir(gvar, [x], out_ty=call.ty)


def lower_clip() -> tvm.transform.Pass:
    """A kernel of clip is kept for its shape and dtype, and used again for other bounds."""
    kernels: dict[Any, tirx.PrimFunc] = {}

    def lowered(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        lowerer = ClipLowerer(mod, kernels)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and not is_labelled(func):
                lowerer.builder_.update_func(gvar, lowerer.visit_expr(func))
        return lowerer.builder_.get()

    return tvm.transform.module_pass(lowered, opt_level=0, name="LowerClip")


def note_profile_ids() -> tvm.transform.Pass:
    """The number under which a function is profiled is random."""

    def noted(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        functions = dict(mod.functions_items())
        for gvar, func in functions.items():
            if isinstance(func, relax.Function) and "profile_id" not in (func.attrs or {}):
                functions[gvar] = func.with_attr("profile_id", uuid.uuid4().hex)
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(noted, opt_level=0, name="NoteProfileIds")
