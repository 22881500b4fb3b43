# ThreadSync: threads move on to the element of another one

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((68,), "int32", scope="shared", layout=None)
        S[tx] = A[tx]
        if tx < 4:
            S[tx + 64] = 0
        B[tx] = 0
        for i in range(4):
            B[tx] = B[tx] + S[tx + i]
            S[tx + i] = A[tx]


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.arange(64, dtype="int32"), np.zeros(64, "int32")]
    after = s_tir.transform.ThreadSync("shared")(mod)
    assert sanitize(mod["main"], args) is None
    fault = sanitize(after["main"], args, synchronised=True)
    assert fault is None, fault
