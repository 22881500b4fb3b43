# FuseTransposeMatmul: permute_dims without axes, of a tensor that is no matrix, before a matmul: "'NoneType' object is not iterable"

import tvm
from tvm import relax
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 2, 2), "float32"), w: R.Tensor((2, 2, 2), "float32")
    ) -> R.Tensor((2, 2, 2), "float32"):
        with R.dataflow():
            wt = R.permute_dims(w)
            gv = R.matmul(x, wt)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTransposeMatmul()(mod)
