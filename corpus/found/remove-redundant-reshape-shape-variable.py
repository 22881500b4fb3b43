# RemoveRedundantReshape: a tensor whose shape is a variable is reshaped: "Cannot use and / or / not operator to Expr"

import tvm
from tvm import relax
from tvm.relax.transform import RemoveRedundantReshape
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(shape: R.Shape(ndim=2)) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            x = R.ones(shape, "float32")
            gv = R.reshape(x, (4,))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    RemoveRedundantReshape()(mod)
