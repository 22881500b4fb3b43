# CanonicalizeLoop: an inner loop that starts at the variable of the outer one

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8, 8), "int32")):
        for i in range(2, 6):
            for j in range(i, 8):
                B[i, j] = i + 100


if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = s_tir.transform.CanonicalizeLoop()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.zeros((8, 8), "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = np.zeros((8, 8), "int32")
    for i in range(2, 6):
        expected[i, i:] = i + 100
    np.testing.assert_array_equal(tensors[0].numpy(), expected)
