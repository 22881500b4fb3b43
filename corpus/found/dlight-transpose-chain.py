# dlight.gpu.Transpose: three blocks in a row, of which the first is not inlined

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 4), "float32"), D: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        C = T.sblock_alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.sblock("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 4):
            with T.sblock("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = D[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 4):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj, vi]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Transpose())(mod)
