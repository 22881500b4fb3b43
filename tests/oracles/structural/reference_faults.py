"""Passes that take the part of a pass that has a reference, named by path as users name theirs."""

from __future__ import annotations

import tvm
from tvm import relax

from relaxfuzz.oracles.reference.realize_vdevice import realize_vdevice


def copies_at_every_hint() -> tvm.transform.Pass:
    """Leaves no hint and breaks no type; but nothing is propagated."""

    @relax.expr_functor.mutator
    class Copier(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if call.op.same_as(tvm.ir.Op.get("relax.hint_on_device")):
                device = self.builder_.get().global_infos["vdevice"][0]
                return relax.op.to_vdevice(call.args[0], device)
            return call

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = {gvar: Copier(mod).visit_expr(func) for gvar, func in mod.functions_items()}
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name="CopiesAtEveryHint")


def refuses_every_hint() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        raise ValueError("The target VDevice in the GlobalInfos was not found.")

    return tvm.transform.module_pass(transform, opt_level=0, name="RefusesEveryHint")


def renames_helpers() -> tvm.transform.Pass:
    """Right, with other names for private functions."""

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        text = str(tvm.ir.save_json(realize_vdevice()(mod)))
        return tvm.ir.load_json(text.replace('"helper"', '"some_helper"'))

    return tvm.transform.module_pass(transform, opt_level=0, name="RenamesHelpers")
