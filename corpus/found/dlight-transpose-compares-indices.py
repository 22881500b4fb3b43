# dlight.gpu.Transpose: it compares indices by an operator that makes an expression

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((5, 5, 1), "int64")):
        return R.permute_dims(x, axes=[0, 2, 1])


kernels = relax.transform.LegalizeOps()(model)
mod = tvm.IRModule({"transpose": kernels["transpose"].with_attr("global_symbol", "transpose")})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Transpose())(mod)
