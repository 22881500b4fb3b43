# LiftTransformParams: with consume_params, any function whose name ends in transform_params is taken for one that the pass has made: without num_input, an internal check fails that has no message

import tvm
from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            weight = R.exp(w)
            gv = R.add(x, weight)
            R.output(gv)
        return gv

    @R.function
    def my_transform_params(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    with tvm.transform.PassContext(config={"relax.lift_transform_params.consume_params": True}):
        LiftTransformParams()(mod)
