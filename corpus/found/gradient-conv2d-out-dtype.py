# Gradient: the gradients of conv2d with an out_dtype have this dtype, not that of the operands

import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((1, 2, 4, 4), "float16"), w: R.Tensor((3, 2, 2, 2), "float16")
    ) -> R.Tensor((), "float32"):
        with R.dataflow():
            convolved = R.nn.conv2d(x, w, out_dtype="float32")
            gv = R.sum(convolved)
            R.output(gv)
        return gv


if __name__ == "__main__":
    adjoint = Gradient("main")(mod)["main_adjoint"]
    gradients = adjoint.ret_ty.fields[1].fields
    for param, gradient in zip(adjoint.params, gradients):
        tvm.ir.assert_structural_equal(gradient, param.ty)
