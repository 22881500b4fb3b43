# DispatchSortScan: cumsum of a tensor whose shape is a variable: object of type 'Var' has no len()

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Shape(ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        gv: R.Tensor(y, dtype="float32") = R.reshape(x, y)
        gv1: R.Tensor(y, dtype="float32") = R.cumsum(gv, axis=0, dtype=None, exclusive=False)
        return gv1


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)
