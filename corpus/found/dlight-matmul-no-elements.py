# dlight.gpu.Matmul: a product of matrices of which there are none

import tvm
from tvm import relax, s_tir
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 0, 4, 4), "float32"), y: R.Tensor((2, 0, 4, 4), "float32")
    ) -> R.Tensor((2, 0, 4, 4), "float32"):
        return R.matmul(x, y)


target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
mod = tvm.tirx.transform.BindTarget(target)(relax.transform.LegalizeOps()(Module))

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Matmul())(mod)
