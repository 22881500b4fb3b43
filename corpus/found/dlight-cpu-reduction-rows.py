# dlight.cpu.Reduction: row sums, and a block that writes a row at a time

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        S = T.sblock_alloc_buffer((2,), "float32")
        D = T.sblock_alloc_buffer((2, 3), "float32")
        for i, k in T.grid(2, 3):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        for i in range(2):
            with T.sblock("row"):
                vi = T.axis.spatial(2, i)
                for j in range(3):
                    D[vi, j] = A[vi, j] - S[vi]
        for i, j in T.grid(2, 3):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = D[vi, vj] * T.float32(2)


mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())(mod)
