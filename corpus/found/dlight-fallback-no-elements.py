# dlight.gpu.Fallback: a kernel whose tensor has no elements, as negative of (2, 0)

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((2, 0), "float32"), B: T.Buffer((2, 0), "float32")):
        for i, j in T.grid(2, 0):
            with T.sblock("negative"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = -A[vi, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
