# Gradient: the gradient of matmul with an out_dtype multiplies the adjoint, which has this dtype, by the operands, which have another: 'Binary operators must have the same datatype'

import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        a: R.Tensor((4, 2), "float16"), b: R.Tensor((2, 3), "float16")
    ) -> R.Tensor((), "float32"):
        with R.dataflow():
            product = R.matmul(a, b, out_dtype="float32")
            gv = R.sum(product)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    Gradient("main")(mod)
