# LoopPartition: a bound that is below the start of the loop

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            B[i] = i + 100
            if T.likely(i < n - 6):
                A[i] = 7


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros(8, "int32"), np.zeros(8, "int32"), 3]
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
    assert sanitize(mod["main"], args) is None
    fault = sanitize(after["main"], args)
    assert fault is None, fault
