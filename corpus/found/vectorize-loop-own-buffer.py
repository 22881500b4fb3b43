# VectorizeLoop: a buffer that is allocated in the loop

import numpy as np
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.vectorized(8):
            t = T.alloc_buffer((1,), "int32", layout=None)
            t[0] = A[i] * 2
            B[i] = t[0]


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = tirx.transform.VectorizeLoop()(mod)

    args = [np.arange(8, dtype="int32"), np.zeros(8, "int32")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
