# Gradient: the gradient of a split into one section joins the adjoint, which is a tensor like the result, as if it were a tuple: concat refuses it

import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            part = R.split(x, 1)
            gv = R.sum(part)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    Gradient("main")(mod)
