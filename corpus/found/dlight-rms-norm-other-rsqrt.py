# dlight.gpu.RMSNorm: an rsqrt alone

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        return R.rsqrt(x)


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"tir_rsqrt": kernels["tir_rsqrt"].with_attr("global_symbol", "tir_rsqrt")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.RMSNorm())(mod)
