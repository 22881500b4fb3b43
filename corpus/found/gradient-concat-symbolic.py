# Gradient: the gradient of a concat along a symbolic dimension gives this dimension to split, which takes constant indices only

import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            joined = R.concat((x, y), axis=0)
            gv = R.sum(joined)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    Gradient("main")(mod)
