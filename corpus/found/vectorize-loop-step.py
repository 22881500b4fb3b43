# VectorizeLoop: a loop with a step

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        for i in T.vectorized(0, 8, step=2):
            B[i] = i + 100


if __name__ == "__main__":
    b = tvm.runtime.tensor(np.zeros(8, "int32"))
    tvm.compile(tirx.transform.VectorizeLoop()(mod), target="llvm")["main"](b)
    np.testing.assert_array_equal(b.numpy(), [100, 0, 102, 0, 104, 0, 106, 0])
