# UnrollLoop: a break or continue in the loop

import numpy as np
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
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = tirx.transform.UnrollLoop()(mod)

    args = [np.eye(4, dtype="int32"), np.zeros((4, 4), "int32")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
