# FuseOpsByPattern: an operand whose shape is a variable: the types of the fused function name this variable, which belongs to its caller

import tvm
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(shape: R.Shape(ndim=2)) -> R.Tensor("float32", ndim=2):
        with R.dataflow():
            x = R.ones(shape, "float32")
            gv = R.nn.relu(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(FuseOpsByPattern([("dnnl.relu", is_op("relax.nn.relu")(wildcard()))])(mod))
