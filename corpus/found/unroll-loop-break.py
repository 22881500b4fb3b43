# UnrollLoop: a break or continue in the loop

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
        for j in range(4):
            for i in T.unroll(4):
                if A[j, i] > 0:
                    break
                B[j, i] = i + 100


if __name__ == "__main__":
    after = tirx.transform.UnrollLoop()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.eye(4, dtype="int32"), np.zeros((4, 4), "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = np.tril(np.full((4, 4), 100) + np.arange(4), -1)
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
