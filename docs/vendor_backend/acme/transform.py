"""The passes that move work to the accelerator."""

import tvm
from tvm import relax
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix

from .patterns import sizes


@relax.expr_functor.mutator
class _Flatten(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op != tvm.ir.Op.get("relax.matmul"):
            return call
        lhs, rhs, out = (sizes(expr) for expr in (*call.args, call))
        if None in (lhs, rhs, out) or len(lhs) < 3 or len(rhs) != 2:
            return call
        rows = self.builder_.emit(relax.op.reshape(call.args[0], (-1, lhs[-1])))
        product = self.builder_.emit(relax.op.matmul(rows, call.args[1]))
        return relax.op.reshape(product, out)


@tvm.transform.module_pass(opt_level=0, name="acme.flatten_batches")
def flatten_batches(mod, context):
    """A batch of matrices times one matrix becomes one long matrix times that one."""
    mutator = _Flatten(mod)
    for gvar, function in mod.functions_items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(gvar, mutator.visit_expr(function))
    return mutator.builder_.get()


def offload():
    """All passes from a model to one whose products the accelerator computes."""
    patterns = get_patterns_with_prefix("acme")
    return tvm.transform.Sequential(
        [
            relax.transform.DeadCodeElimination(),
            flatten_batches,
            relax.transform.FuseOpsByPattern(patterns, bind_constants=False),
            relax.transform.MergeCompositeFunctions(),
            relax.transform.RunCodegen(),
        ],
        name="acme.offload",
    )
