from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.transform import function_pass

FLOATS = ("float16", "float32", "float64")


@function_pass(opt_level=0)
class SoftmaxToExp:
    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.nn.softmax")(x)

        def rewriter(expr, matches):
            data = matches[x]
            if data.ty.dtype not in FLOATS or data.ty.ndim < 1:
                return expr
            shifted = relax.op.subtract(data, relax.op.max(data, axis=-1, keepdims=True))
            e = relax.op.exp(shifted)
            return relax.op.divide(e, relax.op.sum(e, axis=-1, keepdims=True))

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class LowerLeakyRelu:
    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.nn.leakyrelu")(x)

        def rewriter(expr, matches):
            data = matches[x]
            if data.ty.dtype not in FLOATS:
                return expr
            slope = relax.const(expr.attrs.alpha, data.ty.dtype)
            return relax.op.maximum(data, relax.op.multiply(data, slope))

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class ArgmaxWithoutSoftmax:
    # softmax is monotone, so the largest element stays where it is
    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.argmax")(is_op("relax.nn.softmax")(x))

        def rewriter(expr, matches):
            return relax.op.argmax(matches[x], expr.attrs.axis, bool(expr.attrs.keepdims))

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class AvgPoolInNHWC:
    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.nn.avg_pool2d")(x)

        def rewriter(expr, matches):
            attrs = expr.attrs
            if attrs.layout != "NCHW" or attrs.out_layout not in ("", "NCHW"):
                return expr
            pooled = relax.op.nn.avg_pool2d(
                relax.op.permute_dims(matches[x], [0, 2, 3, 1]),
                pool_size=attrs.pool_size,
                strides=attrs.strides,
                padding=attrs.padding,
                dilation=attrs.dilation,
                ceil_mode=bool(attrs.ceil_mode),
                layout="NHWC",
            )
            return relax.op.permute_dims(pooled, [0, 3, 1, 2])

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class DropTrivialScans:
    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pattern = is_op("relax.cumsum")(x)

        def rewriter(expr, matches):
            data, axis = matches[x], expr.attrs.axis
            if axis is None or not isinstance(data.ty.shape, relax.ShapeExpr):
                return expr
            if data.ty.dtype != expr.ty.dtype:
                return expr
            # the running sum over an axis of one element is that element
            extent = data.ty.shape.values[int(axis)]
            return data if getattr(extent, "value", None) == 1 else expr

        return rewrite_call(pattern, rewriter, func)
