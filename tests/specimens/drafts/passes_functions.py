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


@module_pass(opt_level=0, name="RemoveUnusedParams")
def remove_unused_params(mod, ctx):
    while True:
        new = remove_params_once(mod)
        if new is None:
            return mod
        mod = new


def remove_params_once(mod):
    kept = {}
    for gvar, func in relax_functions(mod).items():
        used = set(relax.analysis.free_vars(func.body))
        keep = [i for i, param in enumerate(func.params) if param in used or not is_static(param)]
        if len(keep) < len(func.params):
            kept[gvar] = keep
    if not kept:
        return None

    @relax.expr_functor.mutator
    class Callers(relax.PyExprMutator):
        def visit_call_(self, call):
            if call.op in kept:
                args = [self.visit_expr(call.args[i]) for i in kept[call.op]]
                return relax.Call(new_gvars[call.op], args)
            return super().visit_call_(call)

    functions = dict(mod.functions_items())
    new_gvars = {}
    for gvar, keep in kept.items():
        func = functions.pop(gvar)
        func = rebuilt(func, func.body.blocks, params=[func.params[i] for i in keep])
        new_gvars[gvar] = tvm.ir.GlobalVar(gvar.name_hint)
        relax.expr._update_type(new_gvars[gvar], func.ty)
        functions[new_gvars[gvar]] = func
    callers = Callers()
    for gvar, func in functions.items():
        if isinstance(func, relax.Function):
            functions[gvar] = callers.visit_expr(func)
    return with_functions(mod, functions)


@module_pass(opt_level=0, name="CanonicalNames")
def canonical_names(mod, ctx):
    """Variables are v0, v1, v2, ..., so that two dumps can be compared with diff."""

    @relax.expr_functor.mutator
    class Renamer(relax.PyExprMutator):
        def __init__(self):
            super().__init__()
            self.names = {}

        def renamed(self, var):
            new = type(var)(f"v{len(self.names)}", var.ty)
            self.names[var] = new
            self.set_var_remap(var, new)
            return new

        def visit_var_def_(self, var):
            return self.names[var] if var in self.names else self.renamed(var)

        def visit_dataflow_var_def_(self, var):
            return self.names[var] if var in self.names else self.renamed(var)

    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        functions[gvar] = Renamer().visit_expr(func)
    return with_functions(mod, functions)


def callees(func):
    found = []

    def visit(node):
        if isinstance(node, tvm.ir.GlobalVar):
            found.append(node)

    relax.analysis.post_order_visit(func, visit)
    return found


@module_pass(opt_level=0, name="RemoveDeadBindings")
def remove_dead_bindings(mod, ctx):
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        blocks = [live(block) for block in reversed(func.body.blocks)]
        seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks[::-1], func.body.body))
        new = relax.Function(func.params, seq, func.ret_ty, func.is_pure)
        if is_public(func):
            new = new.with_attr("global_symbol", gvar.name_hint)
        functions[gvar] = new
    return with_functions(mod, functions)


def live(block):
    """Without calls of operators that nobody uses."""
    if not isinstance(block, relax.DataflowBlock):
        return block
    used, kept = set(), []

    def use(node):
        if isinstance(node, relax.Var):
            used.add(node)

    for binding in reversed(block.bindings):
        is_call = isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call)
        is_op = is_call and isinstance(binding.value.op, tvm.ir.Op)
        # other blocks may use what is no DataflowVar
        if is_op and isinstance(binding.var, relax.DataflowVar) and binding.var not in used:
            continue
        relax.analysis.post_order_visit(binding.value, use)
        kept.append(binding)
    return relax.DataflowBlock(kept[::-1])
