import tvm
from common import number, static_shape
from tvm import relax
from tvm.relax import op
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.transform import function_pass

# -- with a mutator ------------------------------------------------------------------------------


class Calls(PyExprMutator):
    name = ""

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op != tvm.ir.Op.get(self.name):
            return call
        new = self.change(call, *call.args)
        return call if new is None else new


def over_functions(mod, kind):
    m = kind(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()


@mutator
class _Tile(Calls):
    name = "relax.tile"

    def change(self, call, x):
        if all(int(n) == 1 for n in call.attrs.repeats) and isinstance(x, relax.Var):
            return x
        return None


@tvm.transform.module_pass(opt_level=0, name="DropTileOfOnes")
def drop_tile_of_ones(mod, ctx):
    """Repeating once is the tensor itself."""
    return over_functions(mod, _Tile)


@mutator
class _Argsort(Calls):
    name = "relax.argsort"

    def change(self, call, x):
        attrs = call.attrs
        if not attrs.descending or static_shape(x) is None:
            return None
        axis = int(attrs.axis)
        return op.flip(op.argsort(x, axis, descending=False, dtype=str(attrs.dtype)), axis)


@tvm.transform.module_pass(opt_level=0, name="ArgsortByFlip")
def argsort_by_flip(mod, ctx):
    """The device sorts upwards only."""
    return over_functions(mod, _Argsort)


@mutator
class _OneHot(Calls):
    name = "relax.one_hot"

    def change(self, call, indices, on, off):
        if number(on) != 1 or number(off) != 0:
            return None
        dtype, places = indices.ty.dtype, op.arange(int(call.attrs.depth), dtype=indices.ty.dtype)
        if dtype not in ("int32", "int64") or static_shape(indices) is None:
            return None
        return op.astype(op.equal(op.expand_dims(indices, -1), places), call.ty.dtype)


@tvm.transform.module_pass(opt_level=0, name="OneHotByEqual")
def one_hot_by_equal(mod, ctx):
    """One where the index is the place, zero elsewhere."""
    return over_functions(mod, _OneHot)


# -- with patterns -------------------------------------------------------------------------------


@function_pass(opt_level=0)
class GlobalPoolAsMean:
    """A pool to one pixel is the mean of the picture."""

    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.nn.adaptive_avg_pool2d")(x)

        def rewriter(expr, matches):
            size, image = expr.attrs.output_size, matches[x]
            if size is None or any(int(n) != 1 for n in size):
                return expr
            if image.ty.ndim != 4 or image.ty.dtype != "float32":
                return expr
            return op.mean(image, [2, 3], keepdims=True)

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class PointwiseConv:
    """A convolution with a kernel of one pixel is a product of matrices."""

    def transform_function(self, func, mod, ctx):
        x, w = wildcard(), wildcard()
        pattern = is_op("relax.nn.conv2d")(x, w)

        def rewriter(expr, matches):
            attrs, image, weight = expr.attrs, matches[x], matches[w]
            if attrs.data_layout != "NCHW" or attrs.kernel_layout != "OIHW":
                return expr
            if attrs.out_layout != "NCHW" or expr.ty.dtype != image.ty.dtype:
                return expr
            if any(int(n) != 1 for n in attrs.strides) or any(int(n) for n in attrs.padding):
                return expr
            size, kernel = static_shape(image), static_shape(weight)
            if size is None or kernel is None or kernel[2:] != [1, 1] or min(size) < 1:
                return expr
            n, c, h, width = size
            flat = op.reshape(image, (n, c, h * width))
            matrix = op.reshape(weight, (kernel[0], c))
            return op.reshape(op.matmul(matrix, flat), (n, kernel[0], h, width))

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class FlipOfConcat:
    """flip(concat(a, b)) is concat(flip(b), flip(a)), of which a constant one is folded later."""

    def transform_function(self, func, mod, ctx):
        a, b = wildcard(), wildcard()
        joined = is_op("relax.concat")(relax.dpl.TuplePattern([a, b]))
        pattern = is_op("relax.flip")(joined)

        def rewriter(expr, matches):
            axis = int(expr.attrs.axis)
            if matches[joined].attrs.axis is None:
                return expr
            parts = [op.flip(matches[each], axis) for each in (b, a)]
            return op.concat(parts, int(matches[joined].attrs.axis))

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class GroupNormOfChannels:
    """With one channel in each group, group_norm is instance_norm."""

    def transform_function(self, func, mod, ctx):
        x, gamma, beta = wildcard(), wildcard(), wildcard()
        pattern = is_op("relax.nn.group_norm")(x, gamma, beta)

        def rewriter(expr, matches):
            attrs, data = expr.attrs, matches[x]
            shape = static_shape(data)
            if shape is None or len(shape) < 3 or data.ty.dtype != "float32":
                return expr
            if int(attrs.num_groups) != shape[1]:
                return expr
            return op.nn.instance_norm(
                data,
                matches[gamma],
                matches[beta],
                channel_axis=1,
                axes=[int(axis) for axis in attrs.axes],
                epsilon=float(attrs.epsilon),
                center=bool(attrs.center),
                scale=bool(attrs.scale),
            )

        return rewrite_call(pattern, rewriter, func)
