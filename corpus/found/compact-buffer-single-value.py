# CompactBufferAllocation: the size of a buffer needs a loop variable that a condition leaves one value

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((2,), "float32"), m: T.int64):
        B = T.alloc_buffer((m,), "float32")
        for i in range(m):
            B[i] = T.float32(1)
        for j in range(T.int64(2)):
            if j == T.int64(1):
                A[j] = B[j % m] + B[m - T.int64(1)]


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(s_tir.transform.CompactBufferAllocation()(mod))
