# ConvertLayout: a tuple that holds anything but tensors, a number or a function, is not bound any more: 'DataflowBlock Pass should not rewrite or delete any global-scope Var'

import tvm
from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2,), "float32"), number: R.Prim("int64")
    ) -> R.Tuple(R.Tensor((2,), "float32"), R.Prim("int64")):
        with R.dataflow():
            gv = (x, number)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(mod)
