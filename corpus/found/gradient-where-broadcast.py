# Gradient: the gradient of where has the shape of the result for both branches, also for one that is broadcast

import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        condition: R.Tensor((2, 3), "bool"), x: R.Tensor((3,), "float32"), y: R.Tensor((2, 3), "float32")
    ) -> R.Tensor((), "float32"):
        with R.dataflow():
            chosen = R.where(condition, x, y)
            gv = R.sum(chosen)
            R.output(gv)
        return gv


if __name__ == "__main__":
    adjoint = Gradient("main")(mod)["main_adjoint"]
    gradients = adjoint.ret_ty.fields[1].fields
    for param, gradient in zip(adjoint.params[1:], gradients[1:]):
        tvm.ir.assert_structural_equal(gradient, param.ty)
