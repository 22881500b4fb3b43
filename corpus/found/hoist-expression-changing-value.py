# HoistExpression: a Let of what the loop changes

import numpy as np
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
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = s_tir.transform.HoistExpression()(mod)

    args = [np.arange(8, dtype="int32"), np.zeros(1, "int32")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
