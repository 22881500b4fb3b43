"""Passes on functions of Relax and on calls of them, with one mistake each."""

from __future__ import annotations

from typing import Any

import tvm
from helpers import each_function, made, same_type, updates_in_place, with_functions
from tvm import relax, tirx


def share_calls_of_functions() -> tvm.transform.Pass:
    """A function that is called twice with the same arguments is called once, even if impure."""

    @relax.expr_functor.mutator
    class Sharer(relax.PyExprMutator):  # type: ignore[misc]
        def __init__(self, mod: tvm.IRModule) -> None:
            super().__init__(mod)
            self.first: dict[Any, relax.Var] = {}

        def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
            outer, self.first = self.first, {}
            new = super().visit_binding_block_(block)
            self.first = outer
            return new

        def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.BindingBlock:
            outer, self.first = self.first, {}
            new = super().visit_dataflow_block_(block)
            self.first = outer
            return new

        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            call = binding.value
            if isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.GlobalVar):
                args = tuple(self.visit_expr(arg) for arg in call.args)
                if all(isinstance(arg, relax.Var) for arg in args):
                    first = self.first.setdefault((call.op, args), binding.var)
                    if not first.same_as(binding.var) and same_type(first, binding.var):
                        binding = relax.VarBinding(binding.var, first)
            super().visit_var_binding_(binding)

    return made(
        "ShareCallsOfFunctions",
        lambda mod: mod if updates_in_place(mod) else each_function(mod, Sharer(mod).visit_expr),
    )


def link_helpers() -> tvm.transform.Pass:
    """The helpers that take the place of calls of sigmoid are added to the input module."""

    @relax.expr_functor.mutator
    class Linker(relax.PyExprMutator):  # type: ignore[misc]
        def __init__(self, helpers: dict[str, tvm.ir.GlobalVar]) -> None:
            super().__init__()
            self.helpers = helpers

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if not is_static_sigmoid(call):
                return call
            return relax.Call(self.helpers[str(call.ty)], call.args)

    def linked(mod: tvm.IRModule) -> tvm.IRModule:
        helpers: dict[str, tvm.ir.GlobalVar] = {}

        def visit(node: Any) -> None:
            if is_static_sigmoid(node) and str(node.ty) not in helpers:
                gvar, helper = tvm.ir.GlobalVar(free_name(mod)), helper_of(node)
                relax.expr._update_type(gvar, helper.ty)
                helpers[str(node.ty)] = gvar
                mod[gvar] = helper

        public = [g for g, f in mod.functions_items() if is_public(f)]
        for gvar in public:
            relax.analysis.post_order_visit(mod[gvar], visit)
        functions = dict(mod.functions_items())
        for gvar in public:
            functions[gvar] = Linker(helpers).visit_expr(mod[gvar])
        return with_functions(mod, functions)

    def is_public(func: tvm.ir.BaseFunc) -> bool:
        return isinstance(func, relax.Function) and "global_symbol" in (func.attrs or {})

    def is_static_sigmoid(node: Any) -> bool:
        if not isinstance(node, relax.Call) or not isinstance(node.op, tvm.ir.Op):
            return False
        if node.op.name != "relax.sigmoid":
            return False
        shape = node.ty.shape
        dims = shape.values if isinstance(shape, relax.ShapeExpr) else [None]
        return all(isinstance(dim, tirx.IntImm) for dim in dims)

    def free_name(mod: tvm.IRModule) -> str:
        taken = {gvar.name_hint for gvar in mod.get_global_vars()}
        return next(name for i in range(1000) if (name := f"sigmoid_helper_{i}") not in taken)

    def helper_of(call: relax.Call) -> relax.Function:
        param, result = relax.Var("x", call.args[0].ty), relax.Var("result", call.ty)
        block = relax.BindingBlock([relax.VarBinding(result, relax.op.sigmoid(param))])
        body = relax.BlockBuilder().normalize(relax.SeqExpr([block], result))
        return relax.Function([param], body, call.ty)

    return made("LinkHelpers", linked)
