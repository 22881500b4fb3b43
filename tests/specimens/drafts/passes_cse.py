"""Things that I want to run before our own codegen: fewer calls, fewer constants, fewer casts."""

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor

PURE = {
    f"relax.{name}"
    for name in [
        *("add", "subtract", "multiply", "exp", "tanh", "sigmoid", "maximum", "minimum", "matmul"),
        *("nn.relu", "nn.gelu", "nn.softmax", "nn.log_softmax", "cumsum", "sort", "argsort"),
        *("flip", "permute_dims", "sum", "max", "min", "mean"),
    ]
}


@mutator
class CombineEqualCalls(PyExprMutator):
    def __init__(self, mod):
        super().__init__(mod)
        self.seen = {}

    def fresh(self, visit, block):
        outer, self.seen = self.seen, {}
        result = visit(block)
        self.seen = outer
        return result

    def visit_binding_block_(self, block):
        return self.fresh(super().visit_binding_block_, block)

    def visit_dataflow_block_(self, block):
        return self.fresh(super().visit_dataflow_block_, block)

    def visit_var_binding_(self, binding):
        call = binding.value
        if isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.Op) and call.op.name in PURE:
            args = tuple(self.visit_expr(arg) for arg in call.args)
            ty = tvm_ffi.structural_hash(call.ty)
            first = self.seen.setdefault((call.op.name, args, ty), binding.var)
            if not first.same_as(binding.var):
                binding = relax.VarBinding(binding.var, first)
        super().visit_var_binding_(binding)


def combine_equal_calls():
    @tvm.transform.module_pass(opt_level=0, name="CombineEqualCalls")
    def transform(mod, ctx):
        m = CombineEqualCalls(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                m.builder_.update_func(gvar, m.visit_expr(func))
        return m.builder_.get()

    return transform


@visitor
class Definitions(PyExprVisitor):
    def __init__(self):
        self.value = {}

    def visit_var_binding_(self, binding):
        self.value[binding.var] = binding.value
        super().visit_var_binding_(binding)

    def visit_function_(self, func):
        for param in func.params:
            self.value[param] = param
        super().visit_function_(func)


def drop_repeated_relu():
    relu = tvm.ir.Op.get("relax.nn.relu")

    @mutator
    class Mutator(PyExprMutator):
        def __init__(self, mod, value):
            super().__init__(mod)
            self.value = value

        def visit_call_(self, call):
            if call.op == relu and isinstance(call.args[0], relax.Var):
                value = self.value[call.args[0]]
                if isinstance(value, relax.Call) and value.op == relu:
                    return self.visit_expr(call.args[0])
            return super().visit_call_(call)

    @tvm.transform.module_pass(opt_level=0, name="DropRepeatedRelu")
    def transform(mod, ctx):
        definitions = Definitions()
        relax_funcs = [(g, f) for g, f in mod.functions_items() if isinstance(f, relax.Function)]
        for _, func in relax_funcs:
            definitions.visit_expr(func)
        m = Mutator(mod, definitions.value)
        for gvar, func in relax_funcs:
            m.builder_.update_func(gvar, m.visit_expr(func))
        return m.builder_.get()

    return transform
