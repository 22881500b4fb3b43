# dlight.gpu.Reduction: a sum of an empty matrix

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((0, 8), "float32")):
        return R.sum(x, axis=[1])


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"sum": kernels["sum"].with_attr("global_symbol", "sum")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Reduction())(mod)
