# RenormalizeSplitPattern: a divisor below 0

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
            B[i] = T.floordiv(T.floormod(A[i], 6), -2)


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = s_tir.transform.RenormalizeSplitPattern()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.arange(8, dtype="int32"), np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = np.arange(8) % 6 // -2
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
