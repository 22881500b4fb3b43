# MergeSharedMemoryAllocations: two static buffers in turn at one place, and no barrier in between

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((64,), "int32", scope="shared")
        U = T.alloc_buffer((64,), "int32", scope="shared")
        S[tx] = A[tx]
        B[tx] = S[63 - tx]
        U[tx] = A[tx] + 1
        B[tx] = B[tx] + U[tx]


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.arange(64, dtype="int32"), np.zeros(64, "int32")]
    before = s_tir.transform.ThreadSync("shared")(mod)
    with tvm.transform.PassContext(config={"tirx.merge_static_smem": True}):
        after = s_tir.transform.MergeSharedMemoryAllocations()(before)
    assert sanitize(before["main"], args, synchronised=True) is None
    fault = sanitize(after["main"], args, synchronised=True)
    assert fault is None, fault
