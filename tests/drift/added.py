"""An operator and two passes that TVM does not have yet; one of the passes is faulty."""

from __future__ import annotations

import tvm
from tvm import relax

NAME = "relax.brand_new"


def brand_new(x: relax.Expr) -> relax.Expr:
    """A new operator."""
    return relax.Call(tvm.ir.Op.get(NAME), [x])


def BrandNew() -> tvm.transform.Pass:
    """A pass that has nothing to do."""
    return tvm.transform.module_pass(lambda mod, context: mod, opt_level=0, name="BrandNew")


def BrandNewFaulty() -> tvm.transform.Pass:
    """A pass that loses all bindings, and keeps what is computed of them."""

    def lose(func: tvm.ir.BaseFunc) -> tvm.ir.BaseFunc:
        if not isinstance(func, relax.Function) or not isinstance(func.body, relax.SeqExpr):
            return func
        rest = relax.SeqExpr([], func.body.body)
        return relax.Function(func.params, rest, func.ret_ty, func.is_pure, func.attrs)

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = {gvar: lose(func) for gvar, func in mod.functions_items()}
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name="BrandNewFaulty")


tvm.ir._ffi_api.RegisterOp(NAME, "")
tvm.ir.register_op_attr(NAME, "FInferType", lambda call, context: call.args[0].ty)
tvm.ir.register_op_attr(NAME, "FPurity", True)
relax.op.brand_new = brand_new
for each in (BrandNew, BrandNewFaulty):
    each.__module__ = relax.transform.__name__
    setattr(relax.transform, each.__name__, each)
