# ToMixedPrecision: an operator that is never cast, with an argument that is no tensor (a number, the function of call_tir) beside a cast one: 'Expected TensorType, but got T.int64'

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")
    ) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            lv = R.matmul(x, w)
            gv = R.triu(lv, 1)
            R.output(gv)
        return gv


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
