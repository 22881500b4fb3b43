# RenormalizeSplitPattern: a product of int8 that wraps around

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
        for i in range(8):
            B[i] = T.floordiv(A[i] * T.int8(6) + T.int8(2), T.int8(4))


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = s_tir.transform.RenormalizeSplitPattern()(mod)

    args = [np.arange(50, 58, dtype="int8"), np.zeros(8, "int8")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
