# rewrite_bindings: another name for a call is taken for a second call that uses the first

import tvm
from tvm import relax
from tvm.relax.dpl import PatternContext, is_op, rewrite_bindings, wildcard
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            once = R.negative(x)
            same = once
            gv = R.add(same, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    with PatternContext() as context:
        first, second = (is_op("relax.negative")(wildcard(), add_constraint=False) for _ in "ab")
        first >> second

    def twice_is_nothing(found, bound):
        return {found[second]: bound[found[first]].args[0]}

    relax.analysis.well_formed(mod)
    result = rewrite_bindings(context, twice_is_nothing, mod["main"])
    tvm.ir.assert_structural_equal(result, mod["main"])
