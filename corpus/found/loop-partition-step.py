# LoopPartition: a loop with a step

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(0, 8, step=2):
            if T.likely(i < 3):
                A[i] = 7
            else:
                A[i] = 9


if __name__ == "__main__":
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [7, 0, 7, 0, 9, 0, 9, 0]
    np.testing.assert_array_equal(tensors[0].numpy(), expected)
