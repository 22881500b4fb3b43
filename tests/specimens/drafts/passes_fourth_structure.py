"""Passes on blocks, bindings and branches; each also without its mistake, as NAME_fixed."""

import tvm
import tvm_ffi
from common import named, relax_functions, with_functions
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


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


def variables(expr):
    """In the order in which they are met, each once."""
    found = {}

    def visit(node):
        if isinstance(node, relax.Var):
            found[node] = True

    relax.analysis.post_order_visit(expr, visit)
    return list(found)


# -- blocks --------------------------------------------------------------------------------------


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
