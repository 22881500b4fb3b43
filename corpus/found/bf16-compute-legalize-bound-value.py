# BF16ComputeLegalize: a cast of bfloat16 in the value of a variable

import ml_dtypes
import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "bfloat16"), B: T.Buffer((1,), "int32")):
        t: T.let[T.int32] = T.Cast("int32", A[0])
        B[0] = t + 1


if __name__ == "__main__":
    # What is left is computed with the bits of A, which BF16StorageLegalize makes a uint16.
    built = tirx.build(mod, target="llvm")
    a = tvm.runtime.tensor(np.full(1, 3, ml_dtypes.bfloat16))
    b = tvm.runtime.tensor(np.zeros(1, "int32"))
    built["main"](a, b)
    np.testing.assert_equal(b.numpy(), np.full(1, 4, "int32"))
