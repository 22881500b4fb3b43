# dlight.gpu.Transpose: a kernel without a root block, as scatter_elements becomes

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(
        x: R.Tensor((17, 3), "float32"),
        i: R.Tensor((2, 3), "int64"),
        u: R.Tensor((2, 3), "float32"),
    ):
        return R.scatter_elements(x, i, u, axis=0)


kernels = relax.transform.LegalizeOps()(model)
func = kernels["scatter_elements"].with_attr("global_symbol", "scatter_elements")
mod = tvm.IRModule({"scatter_elements": func})
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Transpose())(mod)
