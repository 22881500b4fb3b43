# VectorizeLoop: a buffer that is allocated in the loop

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.vectorized(8):
            t = T.alloc_buffer((1,), "int32", layout=None)
            t[0] = A[i] * 2
            B[i] = t[0]


if __name__ == "__main__":
    a, b = (tvm.runtime.tensor(each.astype("int32")) for each in (np.arange(8), np.zeros(8)))
    print(tirx.transform.VectorizeLoop()(mod))  # tvm.compile runs it, too
    tvm.compile(mod, target="llvm")["main"](a, b)
    np.testing.assert_array_equal(b.numpy(), 2 * a.numpy())
