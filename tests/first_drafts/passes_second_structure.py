"""Passes on blocks, branches and tuples, which run before our own lowering."""

import tvm
import tvm_ffi
from tvm import relax

module_pass = tvm.transform.module_pass


def relax_functions(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, relax.Function)}


def with_functions(mod, functions):
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def rebuilt(func, blocks, body=None, ret_ty=None):
    body = func.body.body if body is None else body
    seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, body))
    return relax.Function(func.params, seq, ret_ty or func.ret_ty, func.is_pure, func.attrs)


def same_type(a, b):
    return tvm_ffi.structural_equal(a.ty, b.ty)


def updates_in_place(mod):
    found = []

    def visit(node):
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            found.append("inplace" in node.op.name)

    for func in relax_functions(mod).values():
        relax.analysis.post_order_visit(func, visit)
    return any(found)


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


@module_pass(opt_level=0, name="ReturnDirectly")
def return_directly(mod, ctx):
    """`y = x; return y` at the end of a function becomes `return x`."""
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        *blocks, final = func.body.blocks
        *bindings, last = final.bindings
        if not isinstance(last, relax.VarBinding) or not last.var.same_as(func.body.body):
            continue
        value = last.value
        if not isinstance(value, relax.Var) or isinstance(value, relax.DataflowVar):
            continue
        if same_type(value, last.var):
            blocks += [type(final)(bindings)] if bindings else []
            functions[gvar] = rebuilt(func, blocks, value)
    return with_functions(mod, functions)


# -- match_cast ----------------------------------------------------------------------------------


@relax.expr_functor.mutator
class _MatchCasts(relax.PyExprMutator):
    def visit_match_cast_(self, binding):
        value = self.visit_expr(binding.value)
        if isinstance(value, relax.Var) and says_nothing(binding.ty, value.ty):
            self.set_var_remap(binding.var, value)
        else:
            super().visit_match_cast_(binding)


def says_nothing(new, old):
    if not isinstance(new, relax.TensorType) or not isinstance(old, relax.TensorType):
        return False
    return new.dtype == old.dtype and new.ndim == old.ndim


@module_pass(opt_level=0, name="DropMatchCasts")
def drop_match_casts(mod, ctx):
    """Without those that cast to what the tensor is anyway."""
    if updates_in_place(mod):
        return mod
    functions = dict(mod.functions_items())
    # a dataflow block may end with a match_cast of something inner; those functions stay
    for gvar, func in relax_functions(mod).items():
        if not any(exports_inner(block) for block in func.body.blocks):
            functions[gvar] = _MatchCasts(mod).visit_expr(func)
    return with_functions(mod, functions)


def exports_inner(block):
    casts = [b for b in block.bindings if isinstance(b, relax.MatchCast)]
    return any(
        isinstance(b.value, relax.DataflowVar) and not isinstance(b.var, relax.DataflowVar)
        for b in casts
    )


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


@module_pass(opt_level=0, name="UnwrapSingleTuples")
def unwrap_single_tuples(mod, ctx):
    """A function that returns a tuple of one tensor, as importers make them, returns that."""
    functions = dict(mod.functions_items())
    called = set()

    def visit(node):
        if isinstance(node, tvm.ir.GlobalVar):
            called.add(node)

    for func in relax_functions(mod).values():
        relax.analysis.post_order_visit(func.body, visit)
    for gvar, func in relax_functions(mod).items():
        # callers would have to be changed, too
        if gvar in called or not isinstance(func.ret_ty, relax.TupleType):
            continue
        if len(func.ret_ty.fields) == 1:
            ty = func.ret_ty.fields[0]
            item = relax.Var("result", ty)
            get = relax.VarBinding(item, relax.TupleGetItem(func.body.body, 0))
            blocks = [*func.body.blocks, relax.BindingBlock([get])]
            functions[gvar] = rebuilt(func, blocks, item, ty)
    new = {}
    for gvar, func in functions.items():
        if func.same_as(mod[gvar]):
            new[gvar] = func
        else:
            fresh = tvm.ir.GlobalVar(gvar.name_hint)
            relax.expr._update_type(fresh, func.ty)
            new[fresh] = func
    return with_functions(mod, new)


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
