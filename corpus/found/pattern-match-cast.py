# PatternMatchingRewriter: what a rule is given of a match_cast is the value before the cast, of a type that does not fit

from tvm import relax
from tvm.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((2,), "float32"):
        y = R.match_cast(x, R.Tensor((2,), "float32"))
        z = R.add(y, y)
        return z


if __name__ == "__main__":
    x = wildcard()
    pattern = is_op("relax.add")(x, x)
    rewriter = PatternMatchingRewriter.from_pattern(
        pattern, lambda call, found: relax.op.multiply(found[x], relax.const(2, "float32"))
    )
    relax.analysis.well_formed(rewriter(mod))
