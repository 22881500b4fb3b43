# PatternMatchingRewriter: has_dtype is asked of a tensor of unknown dtype: 'Back optional access'

from tvm.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(ndim=1)):
        y = R.negative(x)
        return y


if __name__ == "__main__":
    pattern = is_op("relax.abs")(wildcard()).has_dtype("float32")
    PatternMatchingRewriter.from_pattern(pattern, lambda call, found: call)(mod)
