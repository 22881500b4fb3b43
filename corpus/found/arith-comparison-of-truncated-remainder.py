# StmtSimplify: truncmod(x, 2) < 2 * j becomes 0 < j, though the remainder of a negative number is negative

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T

@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((4, 3), "int32", layout=None)):
        for i, j in T.grid(4, 3):
            if T.truncmod(i - 3, 2) < (j - 1) * 2:
                B[i, j] = 1

if __name__ == "__main__":
    the_pass = tirx.transform.StmtSimplify()
    expected = np.array([[int(np.fmod(i - 3, 2) < (j - 1) * 2) for j in range(3)] for i in range(4)])

    actual = tvm.runtime.tensor(np.zeros((4, 3), "int32"))
    tvm.compile(the_pass(mod), "llvm")["main"](actual)
    np.testing.assert_array_equal(actual.numpy(), expected)
