# dlight.gpu.Transpose: what reads the transposed tensor is bound to no threads

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((65, 31), "float32"), C: T.Buffer((31, 65), "float32")):
        T.func_attr({"target": T.target({"kind": "vulkan", "host": {"kind": "llvm"}})})
        t = T.alloc_buffer((31, 65), "float32")
        for i, j in T.grid(31, 65):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[vi, vj] = A[vj, vi]
        for i, j in T.grid(31, 65):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = t[vi, vj] + T.float32(1)


if __name__ == "__main__":
    rules = s_tir.dlight.gpu.Transpose(), s_tir.dlight.gpu.Fallback()
    schedule = tvm.s_tir.Schedule(s_tir.dlight.ApplyDefaultSchedule(*rules)(mod)["kernel"])
    loops = [schedule.get(loop) for loop in schedule.get_loops(schedule.get_sblock("add"))]
    assert any(loop.thread_binding for loop in loops), "the block is bound to no threads"
