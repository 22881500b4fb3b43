# ConvertLayout: a conv2d whose kernel has a packed layout that cannot be turned into the desired one: where the pass asks whether it can, it fails an internal check that has no message

import tvm
from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 2, 2, 2), "float32"), w: R.Tensor((1, 2, 2, 2, 2), "float32")
    ) -> R.Tensor((2, 2, 1, 1), "float32"):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, kernel_layout="IOHW2i")
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ConvertLayout({"relax.nn.conv2d": ["NHWC", "HWIO"]})(mod)
