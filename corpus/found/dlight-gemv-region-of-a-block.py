# dlight.cpu.GEMV: a block that writes a row at a time

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((7, 3, 4), "float32"), B: T.Buffer((7, 3, 4), "float32")):
        for i, j in T.grid(7, 3):
            with T.sblock("row"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj, 0:4])
                T.writes(B[vi, vj, 0:4])
                for v in range(4):
                    B[vi, vj, v] = A[vi, vj, v] + T.float32(1)


mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.GEMV())(mod)
