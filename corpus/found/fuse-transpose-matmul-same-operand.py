# FuseTransposeMatmul: the product of a matrix and its own transpose: 'Index out of range. size: 1, got index 1'

import tvm
from tvm import relax
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            xt = R.permute_dims(x)
            gv = R.matmul(x, xt)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTransposeMatmul()(mod)
