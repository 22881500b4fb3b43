# InjectVirtualThread: a store under a condition on the virtual thread

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((2,), "int32")):
        for vx in T.thread_binding(2, thread="vthread.x"):
            L = T.alloc_buffer((1,), "int32", scope="local", layout=None)
            L[0] = 1
            if vx == 1:
                L[0] = 2
            B[vx] = L[0]


mod = s_tir.transform.LowerOpaqueBlock()(mod)

if __name__ == "__main__":
    # tvm.compile runs the pass as well.
    after = s_tir.transform.InjectVirtualThread()(mod)
    built = tvm.compile(after, target="llvm")
    array = tvm.runtime.tensor(np.zeros(2, "int32"))
    built["main"](array)
    np.testing.assert_array_equal(array.numpy(), [1, 2])
