import tvm
from common import updates_in_place
from tvm import relax, tirx
from tvm.relax import op


@relax.expr_functor.mutator
class ShapeMutator(relax.PyExprMutator):
    def __init__(self, mod, name, simplify):
        super().__init__(mod)
        self.name, self.simplify = name, simplify

    def definition(self, var, name=None):
        """What `var` is bound to, if that is a call of the operator on something we may use."""
        value = self.lookup_binding(var) if isinstance(var, relax.Var) else None
        if not isinstance(value, relax.Call) or value.op != tvm.ir.Op.get(name or self.name):
            return None
        leaves_block = not isinstance(var, relax.DataflowVar)
        return None if leaves_block and isinstance(value.args[0], relax.DataflowVar) else value

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op == tvm.ir.Op.get(self.name):
            new = self.simplify(self, call)
            return call if new is None else new
        return call


def shape_pass(name):
    def decorate(simplify):
        def transform(mod, ctx):
            if updates_in_place(mod):  # operands are read later than before
                return mod
            m = ShapeMutator(mod, name, simplify)
            for gvar, func in mod.functions_items():
                if isinstance(func, relax.Function):
                    m.builder_.update_func(gvar, m.visit_expr(func))
            return m.builder_.get()

        return lambda: tvm.transform.module_pass(transform, opt_level=0, name=simplify.__name__)

    return decorate


def axes_of(call):
    if call.attrs.axes is not None:
        return [int(a) for a in call.attrs.axes]
    return list(reversed(range(call.args[0].ty.ndim)))


@shape_pass("relax.permute_dims")
def cancel_transposes(m, call):
    inner = m.definition(call.args[0])
    if inner is None or call.args[0].ty.ndim < 2:
        return None
    return inner.args[0] if axes_of(inner) == axes_of(call) else None


BIG = 4


@shape_pass("relax.matmul")
def split_big_matmul(m, call):
    a, b = call.args
    if a.ty.ndim != 2 or b.ty.ndim != 2:
        return None
    k = b.ty.shape.values[0] if isinstance(b.ty.shape, relax.ShapeExpr) else None
    if not isinstance(k, tirx.IntImm) or k.value <= BIG or k.value % BIG:
        return None
    total = None
    for begin in range(0, k.value, BIG):
        left = op.strided_slice(a, [1], [begin], [begin + BIG])
        right = op.strided_slice(b, [0], [begin], [begin + BIG])
        part = op.matmul(left, right)
        total = part if total is None else op.add(total, part)
    return total


@shape_pass("relax.reshape")
def drop_inner_reshape(m, call):
    inner = m.definition(call.args[0])
    if inner is None or not isinstance(call.args[1], relax.ShapeExpr):
        return None
    dims = [*inner.args[1], *call.args[1]] if isinstance(inner.args[1], relax.ShapeExpr) else [None]
    if not all(isinstance(d, tirx.IntImm) for d in dims):
        return None
    return op.reshape(inner.args[0], call.args[1])
