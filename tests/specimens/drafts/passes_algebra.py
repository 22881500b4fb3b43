import tvm
from common import scalar
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


def op_is(expr, name):
    return isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get(name)


class Rewriter(PyExprMutator):
    def operand(self, expr, name):
        """The call of this operator that a variable is bound to, if its operands are in scope."""
        if not isinstance(expr, relax.Var):
            return None
        value = self.lookup_binding(expr)
        if not op_is(value, name):
            return None
        escapes = not isinstance(expr, relax.DataflowVar)
        if escapes and any(isinstance(arg, relax.DataflowVar) for arg in value.args):
            return None
        return value

    def visit_call_(self, call):
        call = super().visit_call_(call)
        new = self.rewrite(call)
        return call if new is None else new


def run(cls, mod):
    rewriter = cls(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()


@mutator
class _Reciprocal(Rewriter):
    def rewrite(self, call):
        if not op_is(call, "relax.divide"):
            return None
        x, divisor = call.args
        c = scalar(divisor)
        if c is None or not 1e-3 < abs(c) < 1e3:
            return None
        return relax.op.multiply(x, relax.const(1 / c, divisor.ty.dtype))


@tvm.transform.module_pass(opt_level=0, name="DivideByReciprocal")
def divide_by_reciprocal(mod, ctx):
    return run(_Reciprocal, mod)


@mutator
class _Power(Rewriter):
    def rewrite(self, call):
        if not op_is(call, "relax.power"):
            return None
        x, exponent = call.args
        c = scalar(exponent)
        if c is None:
            return None
        n = int(c)
        if n == 2:
            return relax.op.multiply(x, x)
        if n == 3:
            return relax.op.multiply(relax.op.multiply(x, x), x)
        return None


@tvm.transform.module_pass(opt_level=0, name="StrengthReducePower")
def strength_reduce_power(mod, ctx):
    return run(_Power, mod)


INVERSE = {
    "relax.less": relax.op.greater_equal,
    "relax.less_equal": relax.op.greater,
    "relax.greater": relax.op.less_equal,
    "relax.greater_equal": relax.op.less,
    "relax.equal": relax.op.not_equal,
    "relax.not_equal": relax.op.equal,
}


@mutator
class _InvertComparisons(Rewriter):
    def rewrite(self, call):
        if not op_is(call, "relax.logical_not"):
            return None
        for name, inverse in INVERSE.items():
            comparison = self.operand(call.args[0], name)
            if comparison is not None:
                return inverse(*comparison.args)
        return None


@tvm.transform.module_pass(opt_level=0, name="InvertComparisons")
def invert_comparisons(mod, ctx):
    return run(_InvertComparisons, mod)


@mutator
class _PushCasts(Rewriter):
    def rewrite(self, call):
        if not op_is(call, "relax.astype"):
            return None
        return self.cast(call.args[0], call.attrs.dtype)

    def cast(self, expr, dtype):
        total = self.operand(expr, "relax.add")
        if total is None or not str(expr.ty.dtype).startswith("float"):
            return relax.op.astype(expr, dtype)
        return relax.op.add(*(self.cast(arg, dtype) for arg in total.args))


@tvm.transform.module_pass(opt_level=0, name="PushCastsUp")
def push_casts_up(mod, ctx):
    return run(_PushCasts, mod)
