# LoopPartition: a bound that is loaded, and changes in the loop

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        left = T.alloc_buffer((1,), "int32", layout=None)
        left[0] = 6
        for i in range(8):
            if T.likely(i < left[0]):
                left[0] = left[0] - 1
                A[i] = 7


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
        built = tvm.compile(after, target="llvm")
    args = [np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [7, 7, 7, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(tensors[0].numpy(), expected)
