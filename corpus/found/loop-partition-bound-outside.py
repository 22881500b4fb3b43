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
    # tvm.compile runs the pass as well.
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
        built = tvm.compile(after, target="llvm")
    memory = np.zeros(128, "int32")
    memory = memory[-memory.ctypes.data % 64 // 4 :]  # as TVM aligns it
    A, B = memory[:8], memory[32:40]
    built["main"](tvm.runtime.from_dlpack(A), tvm.runtime.from_dlpack(B), 3)
    np.testing.assert_array_equal(B, np.arange(100, 108))
    np.testing.assert_array_equal(memory[8:32], 0, "it has written before B")
