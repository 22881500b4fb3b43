# DispatchSortScan: topk of a tensor of unknown dtype: Back optional access

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3))) -> R.Tensor((2, 1)):
        gv: R.Tensor((2, 1)) = R.topk(x, k=1, axis=-1, ret_type="values")
        return gv


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)
