# dlight.cpu.Reduction: the step behind a sum updates a buffer in place: a ScheduleError

import tvm
from tvm.script import ir as I, tirx as T

dlight = getattr(tvm, "s_tir", tvm).dlight


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        total = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(total[vi])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        for i, j in T.grid(4, 8):
            with T.sblock("update"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, vj], total[vi])
                T.writes(B[vi, vj])
                B[vi, vj] = B[vi, vj] + total[vi]


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        dlight.ApplyDefaultSchedule(dlight.cpu.Reduction())(mod)
