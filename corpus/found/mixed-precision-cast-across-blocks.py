# ToMixedPrecision: an output of one dataflow block that only a matmul in a later block uses: the cast becomes a local variable of the first block, and the second uses it

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        R.print(x, format="between")
        with R.dataflow():
            gv1 = R.matmul(gv, gv)
            R.output(gv1)
        return gv1


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
