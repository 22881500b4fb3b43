# LiftTransformParams: an output of a dataflow block stays one, though the only use outside goes

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
            pair = (x, x)
            R.output(pair)
        first = pair[0]
        return R.add(first, w)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    once = LiftTransformParams()(mod)
    tvm.ir.assert_structural_equal(once, LiftTransformParams()(once))
