# DispatchSortScan: sort of a tensor of unknown shape: emit_te now only supports Tensor that has ShapeExpr shape

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        gv: R.Tensor(dtype="float32", ndim=2) = R.sort(x, axis=-1, descending=False)
        return gv


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)
