# VectorizeLoop: a loop with a step

import numpy as np
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        for i in T.vectorized(0, 8, step=2):
            B[i] = i + 100


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = tirx.transform.VectorizeLoop()(mod)

    args = [np.zeros(8, "int32")]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
