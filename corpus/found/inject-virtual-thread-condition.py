# InjectVirtualThread: a store under a condition on the virtual thread

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for vx in T.thread_binding(2, thread="vthread.x"):
                L = T.alloc_buffer((1,), "int32", scope="local", layout=None)
                L[0] = 1
                if vx == 1:
                    L[0] = 2
                B[vx] = L[0]


mod = s_tir.transform.LowerOpaqueBlock()(mod)


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = s_tir.transform.InjectVirtualThread()(mod)

    args = [np.zeros(2, "int32"), np.zeros(2, "int32")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
