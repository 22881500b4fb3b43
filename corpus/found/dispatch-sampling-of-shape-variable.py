# DispatchSampling: multinomial_from_uniform of a tensor whose shape is a variable: out_ty of call_tir should have defined ShapeExpr as shape

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Shape(ndim=2), z: R.Tensor((2, 1), dtype="float32"), u: R.Tensor((2, 1), dtype="int64")) -> R.Tensor(dtype="int64", ndim=2):
        gv: R.Tensor(y, dtype="float32") = R.reshape(x, y)
        gv1: R.Tensor(dtype="int64", ndim=2) = R.multinomial_from_uniform(gv, z, u, dtype="int64")
        return gv1


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSampling()(mod)
