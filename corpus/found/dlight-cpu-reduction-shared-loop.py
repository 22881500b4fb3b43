# dlight.cpu.Reduction: the last two steps share their outer loop

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 3), "float32")):
        S = T.sblock_alloc_buffer((2, 3), "float32")
        R = T.sblock_alloc_buffer((2, 3), "float32")
        for i, j, k in T.grid(2, 3, 4):
            with T.sblock("sum"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    S[vi, vj] = T.float32(0)
                S[vi, vj] = S[vi, vj] + A[vi, vj, vk]
        for i in range(2):
            for j in range(3):
                with T.sblock("one"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    R[vi, vj] = S[vi, vj] + T.float32(1)
            for j in range(3):
                with T.sblock("two"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = R[vi, vj] * T.float32(2)


mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())(mod)
