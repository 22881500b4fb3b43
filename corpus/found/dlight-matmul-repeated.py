# dlight.gpu.Matmul: a step behind a product has one axis more

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8)), B: T.Buffer((8, 4)), C: T.Buffer((4, 4, 2))):
        D = T.sblock_alloc_buffer((4, 4))
        for i, j, k in T.grid(4, 4, 8):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j, k in T.grid(4, 4, 2):
            with T.sblock("repeated"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = D[vi, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(mod)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Matmul())(mod)
