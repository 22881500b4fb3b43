# dlight.gpu.GEMV: a step behind the product reads the matrix, too

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1, 8)), B: T.Buffer((4, 8)), C: T.Buffer((1, 4, 8))):
        D = T.sblock_alloc_buffer((1, 4))
        for i, j, k in T.grid(1, 4, 8):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vj, vk]
        for i, j, k in T.grid(1, 4, 8):
            with T.sblock("less"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vj, vk] - D[vi, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.GEMV())(mod)
