# UseAssumeToReduceBranches: a store behind the assumption

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(P: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"op_pattern": 0})
        for i in range(8):
            P[i] = T.if_then_else(i < 6, i, 0)
        for i in range(8):
            T.evaluate(T.assume(i < 6 or P[i] == 0))
        for i in range(8):
            P[i] = 3
        for i in range(8):
            B[i] = T.if_then_else(T.LE(6, i), P[i], 0)


if __name__ == "__main__":
    after = s_tir.transform.UseAssumeToReduceBranches()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.zeros(8, "int32"), np.zeros(8, "int32")]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [0, 0, 0, 0, 0, 0, 3, 3]
    np.testing.assert_array_equal(tensors[1].numpy(), expected)
