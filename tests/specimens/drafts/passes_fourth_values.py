"""Rewrites of single operators; each also without its mistake, as NAME_fixed."""

import tvm
from common import is_call, static_shape, updates_in_place
from tvm import relax
from tvm.relax import op
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator

FLOATS = ("float16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def dims(expr):
    """The extents, some of which may be symbolic, or None."""
    ty = expr.ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    return list(ty.shape.values)


# -- with a mutator ------------------------------------------------------------------------------


class Rewriter(PyExprMutator):
    def operand(self, expr, *names):
        """The call of one of these operators within this dataflow block, or None."""
        if not isinstance(expr, relax.DataflowVar):
            return None
        value = self.lookup_binding(expr)
        return value if is_call(value, *names) else None

    def visit_call_(self, call):
        call = super().visit_call_(call)
        new = self.rewrite(call)
        return call if new is None else new


def rewriting(name, function, **options):
    """A module pass from a function of the mutator and the call."""

    @mutator
    class Mutator(Rewriter):
        def rewrite(self, call):
            return function(self, call, **options)

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


def argmax_of_negated(m, call, dtypes):
    """argmax(-x) is argmin(x)."""
    if not is_call(call, "relax.argmax"):
        return None
    inner = m.operand(call.args[0], "relax.negative")
    if inner is None or inner.args[0].ty.dtype not in dtypes:
        return None
    axis = call.attrs.axis
    axis = None if axis is None else int(axis)
    return op.argmin(inner.args[0], axis, bool(call.attrs.keepdims))


NUMBERS = (*FLOATS, *INTS, *UNSIGNED)
argmax_of_negative = rewriting("ArgmaxOfNegative", argmax_of_negated, dtypes=NUMBERS)
argmax_of_negative_fixed = rewriting("ArgmaxOfNegativeFixed", argmax_of_negated, dtypes=FLOATS)


def softmax_first(m, call, position):
    """softmax(permute_dims(x)) is permute_dims(softmax(x)), and that one may meet another."""
    if not is_call(call, "relax.nn.softmax", "relax.nn.log_softmax"):
        return None
    inner = m.operand(call.args[0], "relax.permute_dims")
    if inner is None or dims(inner.args[0]) is None:
        return None
    x, axes = inner.args[0], inner.attrs.axes
    rank = len(dims(x))
    axes = [int(a) % rank for a in axes] if axes is not None else [*reversed(range(rank))]
    axis = position(axes, int(call.attrs.axis) % rank)
    kind = op.nn.softmax if is_call(call, "relax.nn.softmax") else op.nn.log_softmax
    return op.permute_dims(kind(x, axis), axes)


def where_it_goes(axes, axis):
    return axes.index(axis)


def where_it_comes_from(axes, axis):
    return axes[axis]


softmax_before_permute = rewriting("SoftmaxBeforePermute", softmax_first, position=where_it_goes)
softmax_before_permute_fixed = rewriting(
    "SoftmaxBeforePermuteFixed", softmax_first, position=where_it_comes_from
)


def reduce_first(m, call, names):
    """max(astype(x)) is astype(max(x)): the cast has less to do."""
    if not is_call(call, *names):
        return None
    inner = m.operand(call.args[0], "relax.astype")
    if inner is None:
        return None
    x = inner.args[0]
    shape = static_shape(x)
    if shape is None or 0 in shape:
        return None
    narrow, wide = str(x.ty.dtype), str(inner.ty.dtype)
    if narrow not in INTS or wide not in INTS or INTS.index(narrow) >= INTS.index(wide):
        return None
    return op.astype(relax.Call(call.op, [x], call.attrs), wide)


cast_after_reduction = rewriting(
    "CastAfterReduction", reduce_first, names=("relax.max", "relax.min", "relax.sum")
)
cast_after_reduction_fixed = rewriting(
    "CastAfterReductionFixed", reduce_first, names=("relax.max", "relax.min")
)


def no_likes(m, call, any_device):
    """zeros_like(x) needs nothing of x but its type; then x may go away."""
    if not is_call(call, "relax.zeros_like", "relax.ones_like"):
        return None
    ty = m.builder_.normalize(call).ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    if not any_device and (ty.vdevice is not None or ty.dtype is None):
        return None
    kind = op.zeros if is_call(call, "relax.zeros_like") else op.ones
    return kind(ty.shape, str(ty.dtype))


lower_likes = rewriting("LowerLikes", no_likes, any_device=True)
lower_likes_fixed = rewriting("LowerLikesFixed", no_likes, any_device=False)

# -- with patterns -------------------------------------------------------------------------------


def matching(name, pattern, rewriter):
    """A module pass that rewrites pure functions."""

    @tvm.transform.module_pass(opt_level=0, name=name)
    def transform(mod, ctx):
        if updates_in_place(mod):
            return mod
        functions = dict(mod.functions_items())
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and func.is_pure:
                functions[gvar] = rewrite_call(pattern, rewriter, func)
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return transform


class RmsNorm:
    """x / sqrt(mean(x * x) + epsilon) * weight"""

    def __init__(self):
        self.x, self.weight = wildcard(), wildcard()
        self.pattern = is_op("relax.nn.rms_norm")(self.x, self.weight)

    def epsilon(self, attrs):
        return 1e-5

    def __call__(self, expr, matches):
        x, weight = matches[self.x], matches[self.weight]
        shape = static_shape(x)
        if shape is None or 0 in shape or str(x.ty.dtype) != "float32":
            return expr
        if x.ty.vdevice is not None or weight.ty.vdevice is not None:
            return expr  # the result of a product has the device of both
        axes = [int(axis) % len(shape) for axis in expr.attrs.axes]
        if not axes or axes != list(range(len(shape) - len(axes), len(shape))):
            return expr
        square = op.mean(op.multiply(x, x), axes, keepdims=True)
        epsilon = relax.const(self.epsilon(expr.attrs), "float32")
        return op.multiply(op.multiply(x, op.rsqrt(op.add(square, epsilon))), weight)


class RmsNormFixed(RmsNorm):
    def epsilon(self, attrs):
        return float(attrs.epsilon)


_norm, _norm_fixed = RmsNorm(), RmsNormFixed()
lower_rms_norm = matching("LowerRmsNorm", _norm.pattern, _norm)
lower_rms_norm_fixed = matching("LowerRmsNormFixed", _norm_fixed.pattern, _norm_fixed)
