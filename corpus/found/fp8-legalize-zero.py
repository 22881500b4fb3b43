# FP8ComputeLegalize: zero is above zero

import ml_dtypes
import numpy as np
import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float8_e4m3fn"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = T.if_then_else(T.Cast("float32", A[i]) > T.float32(0), 1, 0)


if __name__ == "__main__":
    zeros = tvm.runtime.tensor(np.zeros(4, ml_dtypes.float8_e4m3fn))
    found = tvm.runtime.tensor(np.zeros(4, "int32"))
    tvm.compile(mod, "llvm")["main"](zeros, found)
    np.testing.assert_array_equal(found.numpy(), np.zeros(4, "int32"))
