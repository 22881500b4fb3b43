from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.transform import function_pass

FLOATS = ("float16", "float32", "float64")


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
