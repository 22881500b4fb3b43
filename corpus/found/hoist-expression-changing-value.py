# HoistExpression: a Let of what the loop changes

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
        for k in range(8):
            old = T.int32()
            B[0] = T.Let(old + A[k], where={old: B[0]})


if __name__ == "__main__":
    after = s_tir.transform.HoistExpression()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.arange(8, dtype="int32"), np.zeros(1, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [sum(range(8))]
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
