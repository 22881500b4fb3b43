# PatternMatchingRewriter: a value of which less is known is bound to the variable of the old one

from tvm import relax
from tvm.relax import dpl
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((), "float32"):
        gv: R.Tensor((), "float32") = R.sum(x, axis=None)
        return gv


operand = dpl.wildcard()


def squeezed(call, found):
    return relax.op.squeeze(relax.op.sum(found[operand], [0], keepdims=True), [0])


rewriter = dpl.PatternMatchingRewriter.from_pattern(
    dpl.is_op("relax.sum")(operand).has_attr({"keepdims": False}), squeezed
)


if __name__ == "__main__":
    relax.analysis.well_formed(rewriter(mod))
