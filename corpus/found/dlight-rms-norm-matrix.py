# dlight.gpu.RMSNorm: rms_norm of a matrix

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((8, 33), "float32"), w: R.Tensor((33,), "float32")):
        return R.nn.rms_norm(x, w, axes=[-1])


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"rms_norm": kernels["rms_norm"].with_attr("global_symbol", "rms_norm")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.RMSNorm())(mod)
