import tvm
import tvm_ffi
from common import is_public, relax_functions, with_functions
from tvm import relax, tirx

module_pass = tvm.transform.module_pass


def is_static(var):
    return (
        isinstance(var.ty, relax.TensorType)
        and isinstance(var.ty.shape, relax.ShapeExpr)
        and (all(isinstance(dim, tirx.IntImm) for dim in var.ty.shape.values))
    )


def rebuilt(func, blocks, params=None):
    seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, func.body.body))
    return relax.Function(
        func.params if params is None else params, seq, func.ret_ty, func.is_pure, func.attrs
    )


# -- inlining ------------------------------------------------------------------------------------


@module_pass(opt_level=0, name="InlinePrivate")
class InlinePrivate:
    """Calls of private functions of one dataflow block are replaced by what the block does."""

    def transform_module(self, mod, ctx):
        functions = dict(mod.functions_items())
        self.small = {g: f for g, f in relax_functions(mod).items() if self.fits(f)}
        for gvar, func in relax_functions(mod).items():
            blocks = [self.inlined(block) for block in func.body.blocks]
            functions[gvar] = rebuilt(func, blocks)
        called = {
            g for f in functions.values() if isinstance(f, relax.Function) for g in callees(f)
        }
        kept = {g: f for g, f in functions.items() if g in called or g not in self.small}
        return with_functions(mod, kept)

    def fits(self, func):
        blocks = func.body.blocks
        if is_public(func) or func.attrs or len(blocks) != 1:
            return False
        values = [getattr(b, "value", None) for b in blocks[0].bindings]
        simple = all(isinstance(v, relax.Call) and isinstance(v.op, tvm.ir.Op) for v in values)
        static = all(is_static(p) for p in func.params)
        return isinstance(blocks[0], relax.DataflowBlock) and simple and static

    def inlined(self, block):
        if not isinstance(block, relax.DataflowBlock):
            return block
        bindings = []
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            callee = self.small.get(value.op) if isinstance(value, relax.Call) else None
            if callee is None or not same_types(callee, value):
                bindings.append(binding)
                continue
            for param, arg in zip(callee.params, value.args, strict=True):
                bindings.append(relax.VarBinding(param, arg))
            bindings.extend(callee.body.blocks[0].bindings)
            bindings.append(relax.VarBinding(binding.var, callee.body.body))
        return relax.DataflowBlock(bindings)


def same_types(callee, call):
    pairs = [*zip(callee.params, call.args, strict=True), (callee.body, call)]
    return all(tvm_ffi.structural_equal(a.ty, b.ty) for a, b in pairs)


# -- the two branches of an If -------------------------------------------------------------------


# -- signatures ----------------------------------------------------------------------------------


def callees(func):
    found = []

    def visit(node):
        if isinstance(node, tvm.ir.GlobalVar):
            found.append(node)

    relax.analysis.post_order_visit(func, visit)
    return found
