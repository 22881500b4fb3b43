# MergeSharedMemoryAllocations: a shared buffer of 32 bits beside another one fails an internal check

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((16,), "int32")):
        tx = T.launch_thread("threadIdx.x", 16)
        R = T.alloc_buffer((16,), "int32", scope="shared.dyn")
        S = T.alloc_buffer((1,), "int32", scope="shared.dyn")
        R[tx] = A[tx]
        if tx == 0:
            S[0] = A[tx]
        A[tx] = R[tx] + S[0]


if __name__ == "__main__":
    s_tir.transform.MergeSharedMemoryAllocations()(mod)
