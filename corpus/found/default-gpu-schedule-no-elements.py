# s_tir.DefaultGPUSchedule: a kernel whose tensor has no elements, as negative of (0, 2)

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((0, 2), "float32"), B: T.Buffer((0, 2), "float32")):
        for i, j in T.grid(0, 2):
            with T.sblock("negative"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = -A[vi, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.transform.DefaultGPUSchedule()(mod)
