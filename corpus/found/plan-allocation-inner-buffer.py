# PlanAndUpdateBufferAllocationLocation: a buffer of a loop beside one that a statement allocates there

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        row = T.sblock_alloc_buffer((8,), "float32")
        for i in range(4):
            last = T.alloc_buffer((1,), "float32")
            last[0] = A[i, 7]
            for j in range(8):
                row[j] = A[i, j] * last[0]
            for j in range(8):
                B[i, j] = row[7 - j]


if __name__ == "__main__":
    after = s_tir.transform.PlanAndUpdateBufferAllocationLocation()(mod)
    tvm.s_tir.analysis.verify_well_formed(after)
