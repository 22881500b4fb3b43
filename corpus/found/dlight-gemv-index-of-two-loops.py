# dlight.gpu.GEMV: conv2d with one channel

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((1, 1, 3, 10), "float32"), w: R.Tensor((1, 1, 1, 2), "float32")):
        return R.nn.conv2d(x, w)


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"conv2d": kernels["conv2d"].with_attr("global_symbol", "conv2d")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.GEMV())(mod)
