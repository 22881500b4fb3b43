# PatternMatchingRewriter: a replacement without a dataflow block, as in the docstring, cuts the dataflow block around it in two: 'DataflowVar is not defined'

from tvm import relax
from tvm.script import ir as I, relax as R


@R.rewriter
class rewriter:
    @R.function
    def pattern(x: R.Tensor((2,), "float32")):
        y = R.negative(x)
        return y

    @R.function
    def replacement(x: R.Tensor((2,), "float32")):
        y = R.subtract(R.const(0, "float32"), x)
        return y


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            lv = R.exp(x)
            y = R.negative(x)
            z = R.add(lv, y)
            R.output(z)
        return z


if __name__ == "__main__":
    after = rewriter(mod)
    assert relax.analysis.check_well_formed(after), after
