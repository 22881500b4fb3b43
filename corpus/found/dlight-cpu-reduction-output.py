# dlight.cpu.Reduction: row sums, and what is less than them

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32"), S: T.Buffer((2,), "float32")
    ):
        for i, k in T.grid(2, 3):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        for i, j in T.grid(2, 3):
            with T.sblock("less"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] - S[vi]


mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())(mod)
