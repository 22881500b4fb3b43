"""Passes on whole modules: kernels, private functions, outlining, and devices."""

import re

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor

module_pass = tvm.transform.module_pass
Constant = type(relax.const(0))


def relax_functions(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, relax.Function)}


def kernels(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)}


def is_public(func):
    return func.attrs is not None and "global_symbol" in func.attrs


def with_functions(mod, functions):
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def is_op(expr, name):
    return isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get(name)


def is_static(expr):
    ty = expr.ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return False
    return all(isinstance(dim, tirx.IntImm) for dim in ty.shape.values)


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


# -- private functions ---------------------------------------------------------------------------


@module_pass(opt_level=0, name="DropDeadPrivate")
def drop_dead_private(mod, ctx):
    """Private functions that no public one reaches; kernels stay, for they may call each other."""
    todo = [gvar for gvar, func in mod.functions_items() if is_public(func)]
    if not todo:
        return mod
    reached = set()

    def visit(node):
        if isinstance(node, tvm.ir.GlobalVar):
            todo.append(node)

    while todo:
        gvar = todo.pop()
        if gvar in reached:
            continue
        reached.add(gvar)
        if isinstance(mod[gvar], relax.Function):
            relax.analysis.post_order_visit(mod[gvar], visit)
    dead = {gvar for gvar in relax_functions(mod) if gvar not in reached}
    if not dead:
        return mod
    return with_functions(mod, {g: f for g, f in mod.functions_items() if g not in dead})


# -- outlining -----------------------------------------------------------------------------------

SUPPORTED = ("add", "multiply", "maximum", "exp", "tanh", "nn.relu", "broadcast_to")


@mutator
class _Accelerator(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        name = next((s for s in SUPPORTED if is_op(call, f"relax.{s}")), None)
        tensors = [arg for arg in call.args if isinstance(arg, relax.Var | Constant)]
        if name is None or not all(isinstance(arg.ty, relax.TensorType) for arg in tensors):
            return call
        if not all(isinstance(arg, relax.Var | Constant | relax.ShapeExpr) for arg in call.args):
            return call
        bb = relax.BlockBuilder()
        params = [relax.Var(f"p{i}", arg.ty) for i, arg in enumerate(tensors)]
        rest = iter(params)
        args = [arg if isinstance(arg, relax.ShapeExpr) else next(rest) for arg in call.args]
        with bb.function("f", params, attrs={"Composite": f"accel.{name}"}, private=True):
            with bb.dataflow():
                out = bb.emit_output(relax.Call(call.op, args, call.attrs))
            bb.emit_func_output(out)
        func = relax.utils.copy_with_new_vars(bb.get()["f"])
        gvar = self.builder_.add_func(func, f"accel_{name.replace('.', '_')}")
        return relax.Call(gvar, tensors)


@module_pass(opt_level=0, name="OutlineForAccelerator")
class OutlineForAccelerator:
    """Every supported call becomes a function of its own, for the code generator to take."""

    def transform_module(self, mod, ctx):
        m = _Accelerator(mod)
        for gvar, func in relax_functions(mod).items():
            if is_public(func) and "Codegen" not in func.attrs:
                m.builder_.update_func(gvar, m.visit_expr(func))
        return m.builder_.get()


ACTIVATIONS = ("relax.exp", "relax.tanh", "relax.sigmoid", "relax.nn.gelu", "relax.nn.silu")


@visitor
class Tally(PyExprVisitor):
    """How often an activation is computed for a type."""

    def __init__(self, counts={}):  # noqa: B006
        self.counts = counts

    def visit_call_(self, call):
        if any(is_op(call, name) for name in ACTIVATIONS):
            key = call.op.name, str(call.ty)
            self.counts[key] = self.counts.get(key, 0) + 1
        super().visit_call_(call)


@mutator
class _Repeated(PyExprMutator):
    def __init__(self, mod, counts):
        super().__init__(mod)
        self.counts, self.made = counts, {}

    def visit_call_(self, call):
        ty = call.ty
        call = super().visit_call_(call)
        if not any(is_op(call, name) for name in ACTIVATIONS) or not is_static(call.args[0]):
            return call
        key = call.op.name, str(ty)
        if self.counts.get(key, 0) < 2 or not tvm_ffi.structural_equal(ty, call.args[0].ty):
            return call
        if key not in self.made:
            bb = relax.BlockBuilder()
            x = relax.Var("x", ty)
            with bb.function("f", [x], private=True):
                with bb.dataflow():
                    out = bb.emit_output(relax.Call(call.op, [x], call.attrs))
                bb.emit_func_output(out)
            self.made[key] = self.builder_.add_func(bb.get()["f"], "activation")
        return relax.Call(self.made[key], call.args)


@module_pass(opt_level=0, name="OutlineRepeated")
def outline_repeated(mod, ctx):
    """An activation that is computed twice or more is compiled once."""
    tally = Tally()
    for func in relax_functions(mod).values():
        tally.visit_expr(func)
    m = _Repeated(mod, tally.counts)
    for gvar, func in relax_functions(mod).items():
        if is_public(func):
            m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()


# -- devices -------------------------------------------------------------------------------------


@module_pass(opt_level=0, name="DeclareDevice")
def declare_device(mod, ctx):
    """Our runtime wants one device per module and a note that it is the host."""
    if mod.get_attr("runtime") is not None:
        return mod
    if "vdevice" not in mod.global_infos:
        mod.update_global_info("vdevice", [relax.VDevice("llvm")])
    return mod.with_attr("runtime", "host")


# -- calls of operators --------------------------------------------------------------------------


@mutator
class _Relu(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if is_op(call, "relax.nn.relu"):
            x = call.args[0]
            return relax.op.maximum(x, relax.const(0, x.ty.dtype))
        return call


@module_pass(opt_level=0, name="ReluAsMaximum")
def relu_as_maximum(mod, ctx):
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        new = _Relu(mod).visit_expr(func)
        functions[gvar] = relax.Function(new.params, new.body, new.ret_ty, attrs=new.attrs)
    return with_functions(mod, functions)


@mutator
class _Subtract(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not is_op(call, "relax.subtract"):
            return call
        a, b = call.args
        if b.ty.dtype not in ("float16", "float32", "float64"):
            return call
        return relax.op.add(a, relax.op.negative(b))


@module_pass(opt_level=0, name="SubtractAsAdd")
def subtract_as_add(mod, ctx):
    """a - b becomes a + (-b): later patterns know sums only."""
    new = {}
    for gvar, func in mod.functions_items():
        new[gvar] = _Subtract(mod).visit_expr(func) if isinstance(func, relax.Function) else func
    return tvm.IRModule(new)


@mutator
class _NegatedConstants(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not is_op(call, "relax.subtract") or not isinstance(call.args[1], Constant):
            return call
        x, constant = call.args
        if constant.ty.dtype not in ("float32", "float64"):
            return call
        # weights are large: work on the array itself
        data = constant.data if hasattr(constant, "data") else constant.value
        array = np.from_dlpack(data)
        np.negative(array, out=array)
        return relax.op.add(x, relax.const(array, constant.ty.dtype))


@module_pass(opt_level=0, name="AddNegatedConstants")
def add_negated_constants(mod, ctx):
    """x - c becomes x + (-c)."""
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        functions[gvar] = _NegatedConstants(mod).visit_expr(func)
    return with_functions(mod, functions)


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
