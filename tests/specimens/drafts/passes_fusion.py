import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

COMBINED = ("relax.add", "relax.subtract")


def is_static(*exprs):
    for expr in exprs:
        ty = expr.ty
        if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
            return False
        if not all(isinstance(d, tirx.IntImm) for d in ty.shape.values):
            return False
    return True


def make_fused(matmul, bias, op):
    bb = relax.BlockBuilder()
    a, w, b = (relax.Var(n, e.ty) for n, e in zip("awb", [*matmul.args, bias], strict=True))
    with bb.function("fused", [a, w, b], private=True):
        with bb.dataflow():
            mm = bb.emit(relax.Call(matmul.op, [a, w], matmul.attrs))
            out = bb.emit_output(relax.Call(op, [mm, b]))
        bb.emit_func_output(out)
    return bb.get()["fused"]


@relax.expr_functor.mutator
class FuseBias(relax.PyExprMutator):
    def matmul(self, var):
        if not isinstance(var, relax.DataflowVar):
            return None
        value = self.lookup_binding(var)
        if isinstance(value, relax.Call) and value.op == Op.get("relax.matmul"):
            return value
        return None

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not isinstance(call.op, Op) or call.op.name not in COMBINED:
            return call
        # the matmul may be on either side
        for mm, bias in (call.args, reversed(call.args)):
            value = self.matmul(mm)
            if value is None or not is_static(*value.args, bias):
                continue
            gvar = self.builder_.add_func(make_fused(value, bias, call.op), "fused_matmul")
            return relax.Call(gvar, [*value.args, bias])
        return call


@tvm.transform.module_pass(opt_level=0, name="FuseMatmulBias")
class FuseMatmulBias:
    def transform_module(self, mod, ctx):
        fuser = FuseBias(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and func.attrs and "global_symbol" in func.attrs:
                fuser.builder_.update_func(gvar, fuser.visit_expr(func))
        return fuser.builder_.get()


@tvm.transform.module_pass(opt_level=0, name="FuseAddRelu")
class FuseAddRelu:
    """relu(a + b) becomes a call of a private function, and the addition goes away."""

    def transform_module(self, mod, ctx):
        self.out = relax.BlockBuilder(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and func.attrs and "global_symbol" in func.attrs:
                self.out.update_func(gvar, self.function(func))
        return self.out.get()

    def function(self, func):
        blocks = [self.block(b) for b in func.body.blocks]
        body = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, func.body.body))
        return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)

    def block(self, block):
        if not isinstance(block, relax.DataflowBlock):
            return block
        sums = {}
        for b in block.bindings:
            value = getattr(b, "value", None)
            is_sum = isinstance(value, relax.Call) and value.op == Op.get("relax.add")
            if is_sum and isinstance(b.var, relax.DataflowVar) and is_static(value, *value.args):
                sums[b.var] = value
        new, fused = [], set()
        for b in block.bindings:
            value = getattr(b, "value", None)
            is_relu = isinstance(value, relax.Call) and value.op == Op.get("relax.nn.relu")
            if is_relu and value.args[0] in sums:
                fused.add(value.args[0])
                b = relax.VarBinding(b.var, self.call(sums[value.args[0]]))
            new.append(b)
        return relax.DataflowBlock([b for b in new if b.var not in fused])

    def call(self, total):
        bb = relax.BlockBuilder()
        params = [relax.Var(f"p{i}", arg.ty) for i, arg in enumerate(total.args)]
        with bb.function("add_relu", params, private=True):
            with bb.dataflow():
                out = bb.emit_output(relax.op.nn.relu(relax.op.add(*params)))
            bb.emit_func_output(out)
        gvar = self.out.add_func(bb.get()["add_relu"], "add_relu")
        return self.out.normalize(relax.Call(gvar, list(total.args)))


def concat_of_split():
    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def bound(self, expr, cls):
            value = self.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
            return value if isinstance(value, cls) else None

        def visit_call_(self, call):
            call = super().visit_call_(call)
            if call.op != Op.get("relax.concat") or call.attrs.axis is None:
                return call
            parts = self.bound(call.args[0], relax.Tuple)
            if parts is None or len(parts.fields) < 2:
                return call
            items = [self.bound(field, relax.TupleGetItem) for field in parts.fields]
            if None in items or any(i.tuple_value != items[0].tuple_value for i in items):
                return call
            source = items[0].tuple_value
            split = self.bound(source, relax.Call)
            if split is None or split.op != Op.get("relax.split"):
                return call
            x, axis = split.args[0], int(split.attrs.axis)
            if isinstance(x, relax.DataflowVar) and not isinstance(source, relax.DataflowVar):
                return call
            # every piece is there, along the same axis: that is the tensor we began with
            if len(source.ty.fields) != len(items) or x.ty.ndim < 1:
                return call
            if int(call.attrs.axis) % x.ty.ndim != axis % x.ty.ndim:
                return call
            return x if tvm_ffi.structural_equal(x.ty, call.ty) else call

    def transform(mod, ctx):
        m = Mutator(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                m.builder_.update_func(gvar, m.visit_expr(func))
        return m.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name="ConcatOfSplit")
