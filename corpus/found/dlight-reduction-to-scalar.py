# dlight.gpu.Reduction: a mean of all elements

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        return R.mean(x)


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"mean": kernels["mean"].with_attr("global_symbol", "mean")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Reduction())(mod)
