"""Passes on blocks, branches and tuples, which run before our own lowering."""

import tvm
import tvm_ffi
from common import relax_functions, updates_in_place, with_functions
from tvm import relax

module_pass = tvm.transform.module_pass


def rebuilt(func, blocks, body=None, ret_ty=None):
    body = func.body.body if body is None else body
    seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, body))
    return relax.Function(func.params, seq, ret_ty or func.ret_ty, func.is_pure, func.attrs)


def same_type(a, b):
    return tvm_ffi.structural_equal(a.ty, b.ty)


# -- dataflow blocks -----------------------------------------------------------------------------


@module_pass(opt_level=0, name="WidenDataflow")
def widen_dataflow(mod, ctx):
    """Blocks without side effects become dataflow blocks, and neighbours become one."""
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        blocks = []
        for block in func.body.blocks:
            pure = all(is_pure(binding, mod) for binding in block.bindings)
            if pure and blocks and isinstance(blocks[-1], relax.DataflowBlock):
                blocks[-1] = relax.DataflowBlock([*blocks[-1].bindings, *block.bindings])
            else:
                blocks.append(relax.DataflowBlock(block.bindings) if pure else block)
        functions[gvar] = rebuilt(func, blocks)
    return with_functions(mod, functions)


def is_pure(binding, mod):
    if isinstance(binding, relax.MatchCast):
        return True
    value = binding.value
    if not isinstance(value, relax.Call):
        return True  # only calls have side effects
    if isinstance(value.op, tvm.ir.GlobalVar):
        callee = mod[value.op]
        return isinstance(callee, relax.Function) and callee.is_pure
    return isinstance(value.op, tvm.ir.Op) and bool(value.op.get_attr("FPurity"))


# -- match_cast ----------------------------------------------------------------------------------


# -- branches ------------------------------------------------------------------------------------

CHEAP = {
    f"relax.{name}"
    for name in ("add", "subtract", "multiply", "exp", "tanh", "sigmoid", "negative", "nn.relu")
}


@module_pass(opt_level=0, name="FlattenIf")
class FlattenIf:
    """If both branches are cheap, compute both and select: no jump, and more to fuse."""

    def transform_module(self, mod, ctx):
        functions = dict(mod.functions_items())
        for gvar, func in relax_functions(mod).items():
            functions[gvar] = rebuilt(func, [self.block(b) for b in func.body.blocks])
        return with_functions(mod, functions)

    def block(self, block):
        bindings = []
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if not isinstance(value, relax.If) or not self.fits(value):
                bindings.append(binding)
                continue
            for branch in (value.true_branch, value.false_branch):
                bindings += [b for inner in branch.blocks for b in inner.bindings]
            then, other = value.true_branch.body, value.false_branch.body
            selected = relax.BlockBuilder().normalize(relax.op.where(value.cond, then, other))
            bindings.append(relax.VarBinding(binding.var, selected))
        return type(block)(bindings)

    def fits(self, branching):
        branches = branching.true_branch, branching.false_branch
        if not all(same_type(branch.body, branching) for branch in branches):
            return False
        return all(self.is_cheap(inner) for branch in branches for inner in branch.blocks)

    def is_cheap(self, block):
        if isinstance(block, relax.DataflowBlock):
            return False
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if isinstance(value, relax.Var | relax.Tuple):
                continue
            if not isinstance(value, relax.Call) or not isinstance(value.op, tvm.ir.Op):
                return False
            # an integer may be anything, also an index: leave those alone
            if value.op.name not in CHEAP or value.ty.dtype not in ("float32", "float64"):
                return False
        return True


# -- tuples --------------------------------------------------------------------------------------


@relax.expr_functor.mutator
class _Fields(relax.PyExprMutator):
    def visit_tuple_getitem_(self, item):
        ty = item.ty
        item = super().visit_tuple_getitem_(item)
        source = item.tuple_value
        value = self.lookup_binding(source) if isinstance(source, relax.Var) else source
        if not isinstance(value, relax.Tuple):
            return item
        field = value.fields[item.index]
        if not isinstance(field, relax.Var) or not tvm_ffi.structural_equal(field.ty, ty):
            return item
        # what a dataflow block hands on as a tuple is not visible itself
        if isinstance(field, relax.DataflowVar) and not isinstance(source, relax.DataflowVar):
            return item
        return field


@module_pass(opt_level=0, name="ForwardTupleFields")
def forward_tuple_fields(mod, ctx):
    """(a, b)[1] is b."""
    if updates_in_place(mod):
        return mod
    m = _Fields(mod)
    for gvar, func in relax_functions(mod).items():
        m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()
