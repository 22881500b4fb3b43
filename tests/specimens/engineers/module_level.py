"""Passes on functions, attributes and symbols of a module, with one mistake each."""

from __future__ import annotations

from typing import Any

import tvm
from helpers import made, with_functions
from tvm import relax, tirx


def is_public(func: tvm.ir.BaseFunc) -> bool:
    """It can be called from outside."""
    return func.attrs is not None and "global_symbol" in func.attrs


def hide_called_kernels() -> tvm.transform.Pass:
    """A kernel that can be called from outside loses its symbol if the module calls it, too."""

    def hidden(mod: tvm.IRModule) -> tvm.IRModule:
        called = set()

        def visit(node: Any) -> None:
            if isinstance(node, tvm.ir.GlobalVar):
                called.add(node)

        for _, func in mod.functions_items():
            if isinstance(func, relax.Function):
                relax.analysis.post_order_visit(func, visit)
        functions = dict(mod.functions_items())
        for gvar, func in mod.functions_items():
            if isinstance(func, tirx.PrimFunc) and gvar in called and is_public(func):
                functions[gvar] = func.without_attr("global_symbol")
        return with_functions(mod, functions)

    return made("HideCalledKernels", hidden)


def sort_parameters() -> tvm.transform.Pass:
    """Private functions still call functions as before their parameters were sorted."""

    @relax.expr_functor.mutator
    class Callers(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def __init__(self, renewed: dict[Any, tuple[tvm.ir.GlobalVar, list[int]]]) -> None:
            super().__init__()
            self.renewed = renewed

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            if call.op not in self.renewed:
                return super().visit_call_(call)
            gvar, order = self.renewed[call.op]
            args = [self.visit_expr(arg) for arg in call.args]
            return relax.Call(gvar, [args[i] for i in order], call.attrs, call.ty_args)

    def sorted_parameters(mod: tvm.IRModule) -> tvm.IRModule:
        functions, renewed = dict(mod.functions_items()), {}
        escaping = handed_on(mod)
        for gvar, func in mod.functions_items():
            if not isinstance(func, relax.Function) or func.attrs or gvar in escaping:
                continue
            if not all(map(is_static, func.params)):
                continue
            ranks = [param.ty.ndim for param in func.params]
            order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
            if order == list(range(len(ranks))):
                continue
            params = [func.params[i] for i in order]
            new = relax.Function(params, func.body, func.ret_ty, func.is_pure)
            renewed[gvar] = tvm.ir.GlobalVar(gvar.name_hint), order
            relax.expr._update_type(renewed[gvar][0], new.ty)
            del functions[gvar]
            functions[renewed[gvar][0]] = new
        callers = Callers(renewed)
        for gvar, func in functions.items():
            if renewed and isinstance(func, relax.Function) and is_public(func):
                functions[gvar] = callers.visit_expr(func)
        return with_functions(mod, functions)

    return made("SortParameters", sorted_parameters)


def is_static(param: relax.Var) -> bool:
    """A tensor of known shape."""
    if not isinstance(param.ty, relax.TensorType) or not isinstance(
        param.ty.shape, relax.ShapeExpr
    ):
        return False
    return all(isinstance(dim, tirx.IntImm) for dim in param.ty.shape.values)


def handed_on(mod: tvm.IRModule) -> set[tvm.ir.GlobalVar]:
    """The functions that are used other than by a direct call."""
    found = set()

    @relax.expr_functor.visitor
    class Uses(relax.PyExprVisitor):  # type: ignore[misc]
        def visit_call_(self, call: relax.Call) -> None:
            direct = isinstance(call.op, tvm.ir.GlobalVar)
            for expr in call.args if direct else (call.op, *call.args):
                self.visit_expr(expr)

        def visit_global_var_(self, gvar: tvm.ir.GlobalVar) -> None:
            found.add(gvar)

    for _, func in mod.functions_items():
        if isinstance(func, relax.Function):
            Uses().visit_expr(func)
    return found
