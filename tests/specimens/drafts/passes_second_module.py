"""Passes on whole modules: kernels, private functions, outlining, and devices."""

import re

import tvm
from common import Constant, is_public, kernels, relax_functions, with_functions
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

module_pass = tvm.transform.module_pass


def is_op(expr, name):
    return isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get(name)


@mutator
class OtherGlobals(PyExprMutator):
    """With other functions in place of these."""

    def __init__(self, renamed):
        super().__init__()
        self.renamed = renamed

    def visit_global_var_(self, gvar):
        return self.renamed.get(gvar, gvar)


# -- kernels -------------------------------------------------------------------------------------


@module_pass(opt_level=0, name="MergeKernels")
def merge_kernels(mod, ctx):
    """LegalizeOps makes add, add1, add2, ... for the same shapes; one of them is enough."""
    first, renamed = {}, {}
    for gvar, func in sorted(kernels(mod).items(), key=lambda item: item[0].name_hint):
        if is_public(func):
            continue
        name = re.sub(r"_?\d+$", "", gvar.name_hint)
        signature = tuple(buffer_or_scalar(param.ty) for param in func.params)
        kept = first.setdefault((name, signature), gvar)
        if not kept.same_as(gvar):
            renamed[gvar] = kept
    if not renamed:
        return mod
    functions = {g: f for g, f in mod.functions_items() if g not in renamed}
    for gvar, func in relax_functions(mod).items():
        functions[gvar] = OtherGlobals(renamed).visit_expr(func)
    return with_functions(mod, functions)


def buffer_or_scalar(ty):
    return str(ty.dtype), str(getattr(ty, "shape", None))


@module_pass(opt_level=0, name="PrefixKernels")
def prefix_kernels(mod, ctx):
    """Kernels are called kernel_*, so that the profiler can group them."""
    taken = {gvar.name_hint for gvar in mod.get_global_vars()}
    functions, renamed = dict(mod.functions_items()), {}
    for gvar, func in kernels(mod).items():
        name = f"kernel_{gvar.name_hint}"
        if gvar.name_hint.startswith("kernel_") or name in taken:
            continue
        del functions[gvar]
        renamed[gvar] = tvm.ir.GlobalVar(name)
        relax.expr._update_type(renamed[gvar], gvar.ty)
        if is_public(func):
            func = func.with_attr("global_symbol", name)
        functions[renamed[gvar]] = func
    for gvar, func in relax_functions(mod).items():
        functions[gvar] = OtherGlobals(renamed).visit_expr(func)
    return with_functions(mod, functions)


# -- outlining -----------------------------------------------------------------------------------


# -- devices -------------------------------------------------------------------------------------


# -- calls of operators --------------------------------------------------------------------------


@mutator
class _Power(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not is_op(call, "relax.power") or not isinstance(call.args[1], Constant):
            return call
        x, exponent = call.args
        data = exponent.data if hasattr(exponent, "data") else exponent.value
        if exponent.ty.ndim == 0 and data.numpy().item() == 2:
            return relax.op.square(x)
        return call


@module_pass(opt_level=0, name="PowerTwoToSquare")
def power_two_to_square(mod, ctx):
    gvar = mod.get_global_var("main")
    functions = dict(mod.functions_items())
    functions[gvar] = _Power(mod).visit_expr(mod["main"])
    return with_functions(mod, functions)
