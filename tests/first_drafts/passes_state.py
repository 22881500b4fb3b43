import itertools

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax.dpl import is_const, is_op, rewrite_call, wildcard

NUMBERS = itertools.count()


def tensor(const):
    return const.data if hasattr(const, "data") else const.value


@tvm.transform.module_pass(opt_level=0, name="LowerSquare")
def lower_square(mod, ctx):
    x = wildcard()
    pattern = is_op("relax.square")(x)
    for gvar, func in mod.functions_items():
        if not isinstance(func, relax.Function):
            continue
        new = rewrite_call(pattern, lambda e, found: relax.op.multiply(found[x], found[x]), func)
        mod.update_func(gvar, new)
    return mod


@relax.expr_functor.mutator
class _Outliner(relax.PyExprMutator):
    ops = ("relax.nn.gelu", "relax.nn.silu", "relax.tanh", "relax.sigmoid")

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not isinstance(call.op, tvm.ir.Op) or call.op.name not in self.ops:
            return call
        shape = call.ty.shape
        if not isinstance(shape, relax.ShapeExpr) or not all(
            isinstance(dim, tirx.IntImm) for dim in shape.values
        ):
            return call
        bb = relax.BlockBuilder()
        x = relax.Var("x", call.args[0].ty)
        with bb.function("f", [x], private=True):
            with bb.dataflow():
                out = bb.emit_output(relax.Call(call.op, [x], call.attrs))
            bb.emit_func_output(out)
        gvar = self.builder_.add_func(bb.get()["f"], f"activation_{next(NUMBERS)}")
        return relax.Call(gvar, call.args)


@tvm.transform.module_pass(opt_level=0, name="OutlineActivations")
def outline_activations(mod, ctx):
    outliner = _Outliner(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function) and func.attrs and "global_symbol" in func.attrs:
            outliner.builder_.update_func(gvar, outliner.visit_expr(func))
    return outliner.builder_.get()


@tvm.transform.module_pass(opt_level=0, name="LowerSigmoid")
class LowerSigmoid:
    def __init__(self):
        self.done = {}

    def transform_module(self, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.sigmoid")(x)

        def rewriter(expr, found):
            data = found[x]
            if data.ty.dtype not in ("float32", "float64"):
                return expr
            one = relax.const(1, data.ty.dtype)
            return relax.op.divide(one, one + relax.op.exp(relax.op.negative(data)))

        functions = {}
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                # the pattern matcher is slow on large models: every function is done only once
                if gvar.name_hint not in self.done:
                    self.done[gvar.name_hint] = rewrite_call(pattern, rewriter, func)
                func = self.done[gvar.name_hint]
            functions[gvar] = func
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


@tvm.transform.module_pass(opt_level=0, name="FoldScaleIntoWeight")
def fold_scale_into_weight(mod, ctx):
    x, weight, scale = wildcard(), is_const(), is_const()
    product = is_op("relax.matmul")(x, weight)
    pattern = is_op("relax.multiply")(product, scale)

    def rewriter(expr, found):
        w, s = found[weight], found[scale]
        if s.ty.ndim != 0 or w.ty.dtype not in ("float32", "float64"):
            return expr
        if w.ty.dtype != s.ty.dtype or found[product].ty.dtype != w.ty.dtype:
            return expr
        scaled = tensor(w).numpy() * tensor(s).numpy()
        tensor(w).copyfrom(np.ascontiguousarray(scaled))
        return found[product]

    functions = {}
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            func = rewrite_call(pattern, rewriter, func)
        functions[gvar] = func
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)
