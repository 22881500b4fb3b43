"""The rule Matmul of DLight raises for a product of matrices of which the first has no rows.

It pads and splits all loops of the product without a look whether they have any iterations.
"""

import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "dlight.ApplyDefaultSchedule"
NOT = ("dlight-reduction-empty",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((0, 4), "float32"), y: R.Tensor((4, 4), "float32")) -> R.Tensor(
            (0, 4), "float32"
        ):
            return R.matmul(x, y)

    kernel = relax.transform.LegalizeOps()(Module)["matmul"]
    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    mod = tvm.IRModule({"matmul": kernel.with_attr("global_symbol", "matmul")})
    return tirx.transform.BindTarget(target)(mod)
