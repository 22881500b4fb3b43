# dlight.gpu.GEMV: a sum over the first axis of a matrix that is multiplied by a row

import tvm
from tvm import relax, s_tir, tirx
from tvm.script import ir as I, relax as R


@I.ir_module
class model:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor((2,), "float32")):
        with R.dataflow():
            z = R.multiply(x, y)
            s = R.sum(z, axis=[0])
            R.output(s)
        return s


fused = tvm.transform.Sequential(
    [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ]
)(model)
kernel = fused["fused_multiply_sum"].with_attr("global_symbol", "main")
mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(
    tvm.IRModule({"main": kernel})
)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.GEMV())(mod)
