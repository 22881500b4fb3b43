"""Passes on blocks, bindings and branches; each also without its mistake, as NAME_fixed."""

import itertools

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


def named(name, function, **options):
    """A module pass from a function of the module."""

    @tvm.transform.module_pass(opt_level=0, name=name)
    def transform(mod, ctx):
        return function(mod, **options)

    return transform


def relax_functions(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, relax.Function)}


def with_functions(mod, functions):
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def rebuilt(func, blocks):
    seq = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, func.body.body))
    return relax.Function(func.params, seq, func.ret_ty, func.is_pure, func.attrs)


def each_function(mod, change):
    functions = dict(mod.functions_items())
    for gvar, func in relax_functions(mod).items():
        functions[gvar] = change(func)
    return with_functions(mod, functions)


def is_pure_call(value):
    """A call of an operator that does nothing but compute."""
    if not isinstance(value, relax.Call) or not isinstance(value.op, tvm.ir.Op):
        return False
    return bool(value.op.get_attr("FPurity")) and "inplace" not in value.op.name


def is_pure_binding(binding):
    return isinstance(binding, relax.VarBinding) and is_pure_call(binding.value)


def updates_in_place(mod):
    found = []

    def visit(node):
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            found.append("inplace" in node.op.name)

    for func in relax_functions(mod).values():
        relax.analysis.post_order_visit(func, visit)
    return any(found)


def name_of(var):
    return var.name if hasattr(var, "name") else var.name_hint


def variables(expr):
    """In the order in which they are met, each once."""
    found = {}

    def visit(node):
        if isinstance(node, relax.Var):
            found[node] = True

    relax.analysis.post_order_visit(expr, visit)
    return list(found)


# -- blocks --------------------------------------------------------------------------------------

HEAVY = ("relax.matmul", "relax.nn.conv2d", "relax.nn.attention", "relax.call_tir")


def is_heavy(binding):
    return is_pure_binding(binding) and binding.value.op.name in HEAVY


def pieces(block):
    if not isinstance(block, relax.DataflowBlock):
        return [block]
    found, kinds = [], {True: relax.BindingBlock, False: relax.DataflowBlock}
    for heavy, bindings in itertools.groupby(block.bindings, is_heavy):
        found.append(kinds[heavy](list(bindings)))
    return found


def bound_outside(block):
    """Dataflow variables that are bound in a piece that is no dataflow block."""
    plain = [piece for piece in pieces(block) if not isinstance(piece, relax.DataflowBlock)]
    return {binding.var for piece in plain for binding in piece.bindings}


def crossing(block):
    """Those, and the ones that are used in another piece."""
    found, bound = bound_outside(block), set()
    for piece in pieces(block):
        found |= bound & {var for binding in piece.bindings for var in variables(binding.value)}
        bound |= {binding.var for binding in piece.bindings}
    return found


@mutator
class _Plain(PyExprMutator):
    """With other variables in place of dataflow variables."""

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen

    def visit_dataflow_var_def_(self, var):
        if var not in self.chosen:
            return super().visit_dataflow_var_def_(var)
        new = relax.Var(name_of(var), var.ty)
        self.set_var_remap(var, new)
        return new


def heavy_isolated(mod, promoted):
    """The profiler measures blocks: heavy calls get one of their own."""

    def change(func):
        dataflow = [b for b in func.body.blocks if isinstance(b, relax.DataflowBlock)]
        chosen = {var for block in dataflow for var in promoted(block)}
        func = _Plain(chosen).visit_expr(func)
        return rebuilt(func, [piece for block in func.body.blocks for piece in pieces(block)])

    return each_function(mod, change)


isolate_heavy = named("IsolateHeavy", heavy_isolated, promoted=bound_outside)
isolate_heavy_fixed = named("IsolateHeavyFixed", heavy_isolated, promoted=crossing)


def with_sizes(mod, kind):
    """The dashboard shows how many bindings a function has."""
    functions = dict(mod.functions_items())
    for gvar, func in mod.functions_items():
        if kind(func):
            size = sum(len(block.bindings) for block in func.body.blocks)
            functions[gvar] = func.with_attr("bindings", size)
    return with_functions(mod, functions)


def is_no_kernel(func):
    return not isinstance(func, tvm.tirx.PrimFunc)


def is_relax(func):
    return isinstance(func, relax.Function)


note_sizes = named("NoteSizes", with_sizes, kind=is_no_kernel)
note_sizes_fixed = named("NoteSizesFixed", with_sizes, kind=is_relax)

# -- the order of bindings -----------------------------------------------------------------------


def by_demand(bindings):
    """Each binding right before the first one that needs it."""
    bound = {binding.var: binding for binding in bindings}
    needs = {b.var: [v for v in variables(b.value) if v in bound] for b in bindings}
    needed = {var for vars in needs.values() for var in vars}
    order = {}

    def place(var):
        if var not in order:
            for other in needs[var]:
                place(other)
            order[var] = bound[var]

    for var in bound:
        if var not in needed:
            place(var)
    return list(order.values())


def ordered_by_demand(mod, fits):
    """Values live for a short time only."""

    def change(func):
        blocks = [
            type(block)(by_demand(block.bindings)) if fits(block) else block
            for block in func.body.blocks
        ]
        return rebuilt(func, blocks)

    return each_function(mod, change)


def has_no_casts(block):
    return all(isinstance(binding, relax.VarBinding) for binding in block.bindings)


def has_pure_calls_only(block):
    return has_no_casts(block) and all(is_pure_call(binding.value) for binding in block.bindings)


sink_calls = named("SinkCalls", ordered_by_demand, fits=has_no_casts)
sink_calls_fixed = named("SinkCallsFixed", ordered_by_demand, fits=has_pure_calls_only)


def is_dataflow(block):
    calls = [b.value for b in block.bindings if isinstance(b.value, relax.Call)]
    return isinstance(block, relax.DataflowBlock) and all(is_pure_call(call) for call in calls)


def is_dataflow_without_casts(block):
    return is_dataflow(block) and has_no_casts(block)


schedule_by_demand = named("ScheduleByDemand", ordered_by_demand, fits=is_dataflow)
schedule_by_demand_fixed = named(
    "ScheduleByDemandFixed", ordered_by_demand, fits=is_dataflow_without_casts
)

# -- bindings ------------------------------------------------------------------------------------


def without_unused_calls(mod, removable):
    """Calls whose result nobody uses go away, also outside of dataflow blocks."""

    def change(func):
        used = {func.body.body, *variables(func.body.body)}
        blocks = []
        for block in reversed(func.body.blocks):
            kept = []
            for binding in reversed(block.bindings):
                if binding.var not in used and removable(binding):
                    continue
                used.update(variables(binding.value))
                kept.append(binding)
            if kept:
                blocks.append(type(block)(kept[::-1]))
        return rebuilt(func, blocks[::-1])

    return each_function(mod, change)


def is_call(binding):
    return isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call)


drop_unused_calls = named("DropUnusedCalls", without_unused_calls, removable=is_call)
drop_unused_calls_fixed = named(
    "DropUnusedCallsFixed", without_unused_calls, removable=is_pure_binding
)

UNARY = ("relax.exp", "relax.tanh", "relax.sigmoid", "relax.negative", "relax.sqrt", "relax.abs")


def activations_shared(mod, identity):
    """The same function of the same variable is computed once in a block."""

    def change(func):
        if not func.is_pure:  # one of two results may be changed later
            return func
        return rebuilt(func, [shared(block) for block in func.body.blocks])

    def shared(block):
        if not isinstance(block, relax.DataflowBlock):
            return block
        made, bindings = {}, []
        keys = [key(binding) for binding in block.bindings]
        for binding, computed in zip(block.bindings, keys, strict=True):
            first = made.setdefault(computed, binding.var) if computed else binding.var
            same = first.same_as(binding.var)
            bindings.append(binding if same else relax.VarBinding(binding.var, first))
        return relax.DataflowBlock(bindings)

    def key(binding):
        if not is_pure_binding(binding) or binding.value.op.name not in UNARY:
            return None
        return binding.value.op.name, identity(binding.value.args[0])

    return mod if updates_in_place(mod) else each_function(mod, change)


share_activations = named("ShareActivations", activations_shared, identity=id)
share_activations_fixed = named("ShareActivationsFixed", activations_shared, identity=lambda v: v)


@mutator
class _Relus(PyExprMutator):
    def __init__(self, mod):
        super().__init__(mod)
        self.changed = False

    def visit_call_(self, call):
        call = super().visit_call_(call)
        relu = tvm.ir.Op.get("relax.nn.relu")
        if call.op != relu or not isinstance(call.args[0], relax.DataflowVar):
            return call
        inner = self.lookup_binding(call.args[0])
        if not isinstance(inner, relax.Call) or inner.op != relu:
            return call
        self.changed = True
        return inner


class CollapseRelus:
    """relu(relu(x)) is relu(x); until nothing changes."""

    def __init__(self):
        self.changed = True

    def transform_module(self, mod, ctx):
        while self.changed and not updates_in_place(mod):
            m = _Relus(mod)
            mod = each_function(mod, m.visit_expr)
            self.changed = m.changed
        return mod


class CollapseRelusFixed(CollapseRelus):
    def transform_module(self, mod, ctx):
        self.changed = True
        return super().transform_module(mod, ctx)


module_pass = tvm.transform.module_pass
collapse_relus = module_pass(CollapseRelus, opt_level=0, name="CollapseRelus")
collapse_relus_fixed = module_pass(CollapseRelusFixed, opt_level=0, name="CollapseRelusFixed")


@mutator
class _Casts(PyExprMutator):
    def __init__(self, mod, same):
        super().__init__(mod)
        self.same = same

    def visit_match_cast_(self, binding):
        value = self.visit_expr(binding.value)
        # a dataflow block hands on no inner variable
        escapes = isinstance(value, relax.DataflowVar) and not isinstance(
            binding.var, relax.DataflowVar
        )
        if isinstance(value, relax.Var) and not escapes and self.same(binding.ty, value.ty):
            self.set_var_remap(binding.var, value)
        else:
            super().visit_match_cast_(binding)


def without_casts(mod, same):
    """A match_cast to the type that the value has is nothing."""
    return each_function(mod, _Casts(mod, same).visit_expr)


drop_same_casts = named("DropSameCasts", without_casts, same=lambda a, b: str(a) == str(b))
drop_same_casts_fixed = named("DropSameCastsFixed", without_casts, same=tvm_ffi.structural_equal)

# -- branches ------------------------------------------------------------------------------------


def branches_merged(mod, same):
    """An If whose branches are equal is what they do."""

    def change(func):
        blocks = []
        for block in func.body.blocks:
            bindings = []
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.If) and same(value.true_branch, value.false_branch):
                    if bindings:
                        blocks.append(relax.BindingBlock(bindings))
                    blocks.extend(value.true_branch.blocks)
                    bindings = [relax.VarBinding(binding.var, value.true_branch.body)]
                else:
                    bindings.append(binding)
            if bindings:
                blocks.append(type(block)(bindings))
        return rebuilt(func, blocks)

    return each_function(mod, change)


def ends_alike(a, b):
    # most branches differ in what they end with, and the whole comparison is slow
    ends = [branch.blocks[-1].bindings[-1].value for branch in (a, b)]
    if type(ends[0]) is not type(ends[1]):
        return False
    return tvm_ffi.structural_equal(a, b)


merge_branches = named("MergeBranches", branches_merged, same=ends_alike)
merge_branches_fixed = named("MergeBranchesFixed", branches_merged, same=tvm_ffi.structural_equal)


TENSOR_OR_NUMBER = (relax.TensorType, tvm.ir.PrimType)


@mutator
class _Outline(PyExprMutator):
    def __init__(self, mod, fits):
        super().__init__(mod)
        self.fits = fits

    def visit_if_(self, branching):
        branching = super().visit_if_(branching)  # inner ones first
        branches = branching.true_branch, branching.false_branch
        functions = [self.function(branch) for branch in branches]
        if None in functions:
            return branching
        calls = []
        for func, params in functions:
            gvar = self.builder_.add_func(relax.utils.copy_with_new_vars(func), "branch")
            calls.append(relax.Call(gvar, params))
        return relax.If(branching.cond, *calls)

    def function(self, branch):
        """The branch as a function of its free variables, and these, or None."""
        free = relax.analysis.free_vars(branch)
        if is_outlined(branch) or not all(isinstance(v.ty, TENSOR_OR_NUMBER) for v in free):
            return None
        # dimensions come with the tensors
        params = [var for var in free if isinstance(var.ty, relax.TensorType)]
        pure = not relax.analysis.contains_impure_call(
            relax.Function(params, branch, is_pure=False)
        )
        func = relax.Function(params, branch, branch.body.ty, is_pure=pure)
        return (func, params) if self.fits(func) else None


def is_outlined(branch):
    """There is nothing but a call of a function, or nothing at all."""
    values = [binding.value for block in branch.blocks for binding in block.bindings]
    calls = [v for v in values if isinstance(v, relax.Call)]
    return len(values) < 2 and all(isinstance(call.op, tvm.ir.GlobalVar) for call in calls)


def branches_outlined(mod, fits):
    """The branches of an If are functions of their own, for a code generator that has no jumps."""
    m = _Outline(mod, fits)
    for gvar, func in relax_functions(mod).items():
        m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()


def is_any(func):
    return True


def is_closed(func):
    return not relax.analysis.free_symbolic_vars(func) and not relax.analysis.free_vars(func)


outline_branches = named("OutlineBranches", branches_outlined, fits=is_any)
outline_branches_fixed = named("OutlineBranchesFixed", branches_outlined, fits=is_closed)
