# MergeSharedMemoryAllocations: one static shared buffer behind another, with no barrier between

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")
    ):
        tx = T.launch_thread("threadIdx.x", 64)
        R = T.alloc_buffer((64,), "float32", scope="shared")
        S = T.alloc_buffer((64,), "float32", scope="shared")
        R[tx] = A[tx]
        B[tx] = R[63 - tx]
        S[tx] = A[tx] + T.float32(1)
        C[tx] = S[63 - tx]


mod = s_tir.transform.ThreadSync("shared")(Module)

if __name__ == "__main__":
    # No GPU is needed: relaxfuzz runs the threads one by one.
    from relaxfuzz import sanitize

    with tvm.transform.PassContext(config={"tirx.merge_static_smem": True}):
        after = s_tir.transform.MergeSharedMemoryAllocations()(mod)

    args = [np.zeros(64, "float32") for _ in range(3)]
    assert sanitize(mod["main"], args, outputs=[1, 2], synchronised=True) is None
    fault = sanitize(after["main"], args, outputs=[1, 2], synchronised=True)
    assert fault is None, f"{after}\n{fault}"
