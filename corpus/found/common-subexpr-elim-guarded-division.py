# CommonSubexprElim: a division where the divisor is not 0

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), m: T.int32, n: T.int32):
        if n != 2:
            A[0] = m // (n - 2)
        if n > 2:
            A[1] = m // (n - 2)


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = tirx.transform.CommonSubexprElim()(mod)
    built = tvm.compile(after, target="llvm")
    array = tvm.runtime.tensor(np.zeros(8, "int32"))
    built["main"](array, 3, 2)  # divides by 0
    np.testing.assert_array_equal(array.numpy(), np.zeros(8))
