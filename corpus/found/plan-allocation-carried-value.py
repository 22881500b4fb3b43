# PlanAndUpdateBufferAllocationLocation: a running sum

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        S = T.sblock_alloc_buffer((1,), "int32")
        for i in range(4):
            if i == 0:
                S[0] = 0
            S[0] = S[0] + A[i]
            B[i] = S[0]


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros(4, "int32"), np.zeros(4, "int32")]
    after = s_tir.transform.PlanAndUpdateBufferAllocationLocation()(mod)
    assert sanitize(mod["main"], args) is None
    fault = sanitize(after["main"], args)
    assert fault is None, fault
