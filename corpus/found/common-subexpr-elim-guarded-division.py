# CommonSubexprElim: a division where the divisor is not 0

import numpy as np
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), m: T.int32, n: T.int32):
        if n != 2:
            A[0] = m // (n - 2)
        if n > 2:
            A[1] = m // (n - 2)


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = tirx.transform.CommonSubexprElim()(mod)

    args = [np.zeros(8, "int32"), 3, 2]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
