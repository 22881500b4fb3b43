# ThreadSync: one row of threads writes what all rows read

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((128,), "int32"), B: T.Buffer((128,), "int32")):
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "int32", scope="shared", layout=None)
        E = T.alloc_buffer((128,), "int32", scope="shared", layout=None)
        E[ty * 32 + tx] = A[ty * 32 + tx]
        B[ty * 32 + tx] = E[127 - ty * 32 - tx]
        if ty == 0:
            S[tx] = A[tx]
        B[ty * 32 + tx] = B[ty * 32 + tx] + S[tx]


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.arange(128, dtype="int32"), np.zeros(128, "int32")]
    after = s_tir.transform.ThreadSync("shared")(mod)
    assert sanitize(mod["main"], args) is None
    fault = sanitize(after["main"], args, synchronised=True)
    assert fault is None, fault
