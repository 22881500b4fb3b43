# s_tir.DefaultGPUSchedule: a block with one axis in two loops

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i, j in T.grid(4, 2):
            with T.sblock("negative"):
                v = T.axis.spatial(8, i * 2 + j)
                B[v] = -A[v]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.transform.DefaultGPUSchedule()(mod)
