# StorageRewrite: a buffer with two names

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        S = T.alloc_buffer((8,), "int32", layout=None)
        D = T.alloc_buffer((8,), "int32", layout=None)
        S2 = T.decl_buffer((8,), "int32", data=S.data, layout=None)
        for i in range(8):
            S[i] = A[i]
        for i in range(8):
            D[i] = S2[7 - i] + 1
        for i in range(8):
            B[i] = D[i]


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = tirx.transform.StorageRewrite()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.arange(8, dtype="int32"), np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = np.arange(8)[::-1] + 1
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
