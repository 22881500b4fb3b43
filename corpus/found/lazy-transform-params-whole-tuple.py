# LazyTransformParams: the transform of weights that stay as they are returns its parameter, the tuple of weights; the pass drops the parameter and keeps the use

import tvm
import tvm.relax.op.vm
from tvm import relax
from tvm.relax.transform import LazyTransformParams, LiftTransformParams, ToNonDataflow
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.add(x, w)
            R.output(y)
        return y


mod = tvm.transform.Sequential([LiftTransformParams(), ToNonDataflow()])(model)


if __name__ == "__main__":
    relax.analysis.well_formed(LazyTransformParams()(mod))
