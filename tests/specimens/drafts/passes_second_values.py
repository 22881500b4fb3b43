import tvm
from common import Constant, array, is_call, scalar, static_shape, updates_in_place
from tvm import relax, tirx
from tvm.relax import op
from tvm.relax.expr_functor import PyExprMutator, mutator

FLOATS = ("float16", "float32", "float64")


class Rewriter(PyExprMutator):
    def operand(self, expr, *names):
        """The call of one of these operators that a variable is bound to, if in scope."""
        if not isinstance(expr, relax.Var):
            return None
        value = self.lookup_binding(expr)
        if not is_call(value, *names):
            return None
        escapes = not isinstance(expr, relax.DataflowVar)
        if escapes and any(isinstance(arg, relax.DataflowVar) for arg in value.args):
            return None
        return value

    def visit_call_(self, call):
        new = super().visit_call_(call)
        result = self.rewrite(new, call.ty)
        return new if result is None else result


def rewriting(name):
    """A module pass from a method `rewrite(self, call, ty)`."""

    def decorate(rewrite):
        @mutator
        class Mutator(Rewriter):
            def rewrite(self, call, ty):
                return rewrite(self, call, ty)

        @tvm.transform.module_pass(opt_level=0, name=name)
        def transform(mod, ctx):
            if updates_in_place(mod):  # operands may be read later than before
                return mod
            m = Mutator(mod)
            for gvar, func in mod.functions_items():
                if isinstance(func, relax.Function):
                    m.builder_.update_func(gvar, m.visit_expr(func))
            return m.builder_.get()

        return transform

    return decorate


# -- indexing ------------------------------------------------------------------------------------


@rewriting("TakeRange")
def take_range(m, call, ty):
    """take of constant indices a, a + 1, a + 2, ... is a slice, which copies faster."""
    if not is_call(call, "relax.take") or call.attrs.axis is None:
        return None
    x, indices = call.args[0], array(call.args[1])
    shape, axis = static_shape(x), int(call.attrs.axis)
    if shape is None or indices is None or indices.ndim != 1 or indices.size == 0:
        return None
    first, last = int(indices[0]), int(indices[-1])
    if not 0 <= first <= last < shape[axis] or last - first + 1 != indices.size:
        return None
    return op.strided_slice(x, [axis], [first], [last + 1])


@rewriting("TopkOneToMax")
def topk_one_to_max(m, call, ty):
    if not is_call(call, "relax.topk") or int(call.attrs.k) != 1:
        return None
    if call.attrs.ret_type != "values":
        return None
    return op.max(call.args[0], int(call.attrs.axis), keepdims=True)


@rewriting("MergeTriangles")
def merge_triangles(m, call, ty):
    """tril(tril(x, a), b) and triu(triu(x, a), b) need only one of the two."""
    for name, build in (("relax.tril", op.tril), ("relax.triu", op.triu)):
        if not is_call(call, name):
            continue
        inner = m.operand(call.args[0], name)
        if inner is None:
            continue
        diagonals = inner.args[1], call.args[1]
        if all(isinstance(k, tirx.IntImm) for k in diagonals):
            return build(inner.args[0], max(int(k) for k in diagonals))
    return None


# -- elementwise ---------------------------------------------------------------------------------


@rewriting("ConstantsRight")
def constants_right(m, call, ty):
    """Later patterns look for a constant on the right only."""
    if is_call(call, "relax.add", "relax.multiply"):
        a, b = call.args
        if isinstance(a, Constant) and not isinstance(b, Constant):
            return relax.Call(call.op, [b, a], call.attrs)
    return None


@rewriting("MergeWideningCasts")
def merge_widening_casts(m, call, ty):
    """A cast of a cast to a wider type, which loses nothing, can begin with the operand."""
    if not is_call(call, "relax.astype") or call.attrs.dtype not in FLOATS:
        return None
    inner = m.operand(call.args[0], "relax.astype")
    if inner is None:
        return None
    x = inner.args[0]
    if x.ty.dtype not in FLOATS or inner.attrs.dtype not in FLOATS:
        return None
    if FLOATS.index(inner.attrs.dtype) < FLOATS.index(x.ty.dtype):
        return None
    return op.astype(x, call.attrs.dtype)


# -- reductions ----------------------------------------------------------------------------------

LINEAR = ("relax.sum", "relax.mean", "relax.max", "relax.min")


@rewriting("ScaleAfterReduction")
def scale_after_reduction(m, call, ty):
    """reduce(x * c) is reduce(x) * c, with fewer multiplications."""
    if not is_call(call, *LINEAR):
        return None
    product = m.operand(call.args[0], "relax.multiply")
    if product is None:
        return None
    for x, factor in (product.args, reversed(product.args)):
        c = scalar(factor)
        if c is None or factor.ty.dtype not in ("float32", "float64"):
            continue
        if 1e-3 < abs(c) < 1e3:
            return op.multiply(relax.Call(call.op, [x], call.attrs), factor)
    return None
