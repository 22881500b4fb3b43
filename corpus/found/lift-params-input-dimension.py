# LiftTransformParams: an input has n + 2 elements, and only a weight, otherwise unused, defines n: 'Var n is not defined'

from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), y: R.Tensor(("n + 2",), "float32"), w: R.Tensor(("n",), "float32")
    ) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 2})
        n = T.int64()
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv


def apply(mod):
    return LiftTransformParams()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
