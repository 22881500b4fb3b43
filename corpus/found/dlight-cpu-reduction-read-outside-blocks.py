# dlight.cpu.Reduction: a sum that is read outside of blocks, before the block that it moves to

import numpy as np
import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((2, 4), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((2, 4), "int32")
    ):
        S = T.sblock_alloc_buffer((2,), "int32")
        for i, k in T.grid(2, 4):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = 0
                S[vi] = S[vi] + A[vi, vk]
        for i in range(2):
            B[i] = S[i]
        for i, j in T.grid(2, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] - S[vi]


mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)

if __name__ == "__main__":
    copy = tvm.IRModule(dict(mod.functions_items()))
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())(copy)
    a, b = np.arange(8, dtype="int32").reshape(2, 4), np.zeros(2, "int32")
    given = [tvm.runtime.tensor(x) for x in (a, b, np.zeros((2, 4), "int32"))]
    tirx.build(after, target="llvm")["main"](*given)
    np.testing.assert_array_equal(given[1].numpy(), a.sum(axis=1))
