# LiftTransformParams: a weight of m * n elements, m and n dims of an input: 'Var m is not defined'

from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor(("m", "n"), "float32"), w: R.Tensor(("m * n",), "float32")
    ) -> R.Tensor(("m * n",), "float32"):
        R.func_attr({"num_input": 1})
        m = T.int64()
        n = T.int64()
        with R.dataflow():
            y = R.add(w, w)
            R.output(y)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(LiftTransformParams()(mod))
