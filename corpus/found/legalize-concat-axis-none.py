# LegalizeOps: concat with axis None raises "Cannot convert from type `None` to `int`"

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            gv = R.concat((x, x), axis=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
