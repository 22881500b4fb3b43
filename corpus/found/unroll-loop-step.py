# UnrollLoop: a loop with a step

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        for i in T.unroll(0, 8, step=2):
            B[i] = i + 100


if __name__ == "__main__":
    after = tirx.transform.UnrollLoop()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [100, 0, 102, 0, 104, 0, 106, 0]
    np.testing.assert_array_equal(tensors[0].numpy(), expected)
