# RenormalizeSplitPattern: a product of int8 that wraps around

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
        for i in range(8):
            B[i] = T.floordiv(A[i] * T.int8(6) + T.int8(2), T.int8(4))


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = s_tir.transform.RenormalizeSplitPattern()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.arange(50, 58, dtype="int8"), np.zeros(8, "int8")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = (np.arange(50, 58, dtype="int8") * np.int8(6) + np.int8(2)) // np.int8(4)
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
