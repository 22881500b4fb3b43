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
