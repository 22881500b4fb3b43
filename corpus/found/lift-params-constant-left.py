# LiftTransformParams: the second run puts a constant into uses, which the first left

import tvm
from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            one = R.const([1.0, 2.0], "float32")
            c = one
            R.output(c)
        y = R.add(x, c)
        return R.add(y, w)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    once = LiftTransformParams()(mod)
    tvm.ir.assert_structural_equal(once, LiftTransformParams()(once))
