"""A faulty pass of a user's, as the text of a file: it swaps the operands of subtractions."""

SWAP = """
import tvm
from tvm import relax


@relax.expr_functor.mutator
class _Swap(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == tvm.ir.Op.get("relax.subtract"):
            return relax.op.subtract(call.args[1], call.args[0])
        return call


@tvm.transform.module_pass(opt_level=0, name="SwapSubtract")
def swap(mod, context):
    mutator = _Swap(mod)
    for gvar, func in mod.functions_items():
        mutator.builder_.update_func(gvar, mutator.visit_expr(func))
    return mutator.builder_.get()
"""
