# LegalizeOps: a convolution or pooling with an out_layout of its own, or with a layout that TOPI has no kernel for, is left as it is, with no more than a log message of level info; relax.build fails on it

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3, 8), "float32"), w: R.Tensor((4, 3, 3), "float32")
    ) -> R.Tensor((2, 6, 4), "float32"):
        gv = R.nn.conv1d(x, w, out_layout="NWC")
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.build(mod, "llvm")
