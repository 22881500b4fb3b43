# LoopPartition: a break in the loop

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            if A[i] > 10:
                break
            if T.likely(i < 3):
                B[i] = 77
            else:
                B[i] = 88


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
        built = tvm.compile(after, target="llvm")
    args = [np.array([1, 20, 1, 1, 1, 1, 1, 1], "int32"), np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [77, 0, 0, 0, 0, 0, 0, 0]  # A[1] ends the loop
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
