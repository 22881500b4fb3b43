import tvm
from common import static_shape
from tvm import relax
from tvm.relax import op
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.transform import function_pass


@function_pass(opt_level=0)
class PadIntoMaxPool:
    """The padding of a pool costs nothing, a pad before it does."""

    def transform_function(self, func, mod, ctx):
        x = wildcard()
        pad = is_op("relax.nn.pad")(x)
        pattern = is_op("relax.nn.max_pool2d")(pad)

        def rewriter(expr, matches):
            attrs, padding = expr.attrs, matches[pad].attrs
            if attrs.layout != "NCHW" or padding.pad_mode != "constant" or padding.pad_value != 0:
                return expr
            width = [int(w) for w in padding.pad_width]
            if len(width) != 8 or any(width[:4]) or min(width) < 0:
                return expr
            top, bottom, left, right = width[4:]
            more = (top, left, bottom, right)
            return op.nn.max_pool2d(
                matches[x],
                pool_size=attrs.pool_size,
                strides=attrs.strides,
                padding=[int(p) + q for p, q in zip(attrs.padding, more, strict=True)],
                dilation=attrs.dilation,
                ceil_mode=bool(attrs.ceil_mode),
                layout=attrs.layout,
                out_layout=attrs.out_layout,
            )

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class LowerAttention:
    def transform_function(self, func, mod, ctx):
        q, k, v = wildcard(), wildcard(), wildcard()
        pattern = is_op("relax.nn.attention")(q, k, v)

        def rewriter(expr, matches):
            attrs = expr.attrs
            if attrs.causal_mask is not None or attrs.window_size is not None:
                return expr
            if expr.ty.dtype != "float32":
                return expr
            # (batch, length, heads, dim) -> (batch, heads, length, dim)
            query, value = (op.permute_dims(matches[p], [0, 2, 1, 3]) for p in (q, v))
            scores = op.matmul(query, op.permute_dims(matches[k], [0, 2, 3, 1]))
            if attrs.scale is not None:
                scores = op.multiply(scores, relax.const(float(attrs.scale), "float32"))
            out = op.matmul(op.nn.softmax(scores, axis=-1), value)
            return op.permute_dims(out, [0, 2, 1, 3])

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class ResizeByRepeat:
    """Nearest neighbour by a whole factor repeats every pixel."""

    def transform_function(self, func, mod, ctx):
        x, size = wildcard(), wildcard()
        pattern = is_op("relax.image.resize2d")(x, size)

        def rewriter(expr, matches):
            attrs, image = expr.attrs, matches[x]
            if attrs.layout != "NCHW" or attrs.method != "nearest_neighbor":
                return expr
            if attrs.rounding_method != "round" or expr.ty.dtype != image.ty.dtype:
                return expr
            before, after = static_shape(image), static_shape(expr)
            if before is None or after is None or min(before) < 1:
                return expr
            for axis in (2, 3):
                factor, rest = divmod(after[axis], before[axis])
                if rest or factor < 1:
                    return expr
                image = op.repeat(image, factor, axis)
            return image

        return rewrite_call(pattern, rewriter, func)


@function_pass(opt_level=0)
class LowerDequantize:
    """(x - zero_point) * scale, for one scale and one zero point."""

    def transform_function(self, func, mod, ctx):
        x, scale, zero = wildcard(), wildcard(), wildcard()
        pattern = is_op("relax.dequantize")(x, scale, zero)

        def rewriter(expr, matches):
            data, s, z = matches[x], matches[scale], matches[zero]
            if data.ty.dtype not in ("int8", "uint8") or z.ty.dtype != data.ty.dtype:
                return expr
            if s.ty.ndim != 0 or z.ty.ndim != 0 or s.ty.dtype != expr.attrs.out_dtype:
                return expr
            centred = op.astype(op.subtract(data, z), s.ty.dtype)
            return op.multiply(centred, s)

        return rewrite_call(pattern, rewriter, func)


# -- with a mutator, where a pattern is not enough -----------------------------------------------


def every_function(mutator, mod):
    m = mutator(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()


@relax.expr_functor.mutator
class _Einsum(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op != tvm.ir.Op.get("relax.einsum") or not isinstance(call.args[0], relax.Tuple):
            return call
        inputs, arrow, out = call.attrs.subscripts.replace(" ", "").partition("->")
        names = inputs.split(",")
        if not arrow or len(names) != 2 or any(len(set(n)) != 2 or len(n) != 2 for n in names):
            return call
        common = set(names[0]) & set(names[1])
        if len(common) != 1 or set(out) != set(names[0]) ^ set(names[1]):
            return call
        (contracted,) = common
        a, b = call.args[0].fields
        # the contracted axis is the last one of a and the first one of b
        if names[0][0] == contracted:
            a = op.permute_dims(a)
        if names[1][1] == contracted:
            b = op.permute_dims(b)
        return op.matmul(a, b)


@tvm.transform.module_pass(opt_level=0, name="EinsumToMatmul")
class EinsumToMatmul:
    def transform_module(self, mod, ctx):
        return every_function(_Einsum, mod)


@relax.expr_functor.mutator
class _Upcast(relax.PyExprMutator):
    ops = ("relax.exp", "relax.log", "relax.tanh", "relax.sigmoid", "relax.sqrt", "relax.nn.gelu")

    def visit_call_(self, call):
        is_half = isinstance(call.op, tvm.ir.Op) and call.ty.dtype == "float16"
        call = super().visit_call_(call)
        if not is_half or call.op.name not in self.ops:
            return call
        wide = op.astype(call.args[0], "float32")
        return op.astype(relax.Call(call.op, [wide], call.attrs), "float16")


@tvm.transform.module_pass(opt_level=0, name="UpcastHalf")
class UpcastHalf:
    """Transcendental functions of float16 are computed in float32."""

    def transform_module(self, mod, ctx):
        return every_function(_Upcast, mod)
