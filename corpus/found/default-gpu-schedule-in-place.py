# DefaultGPUSchedule: a kernel that updates its argument, as call_tir_inplace calls it

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def inplace_add(A: T.Buffer((2, 3), "int32"), B: T.Buffer((2, 3), "int32")):
        for i, j in T.grid(2, 3):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + B[vi, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.transform.DefaultGPUSchedule()(mod)
