# HoistIfThenElse: an if in an if, of which the outer one has an else

import numpy as np
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            if i < 4:
                if n > 2:
                    B[i] = 1
            else:
                B[i] = 2


if __name__ == "__main__":
    # The pass runs inside of tvm.compile, too: relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    after = s_tir.transform.HoistIfThenElse()(mod)

    args = [np.zeros(8, "int32"), 1]
    expected, got = (
        evaluate(each, "main", [np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
        for each in (mod, after)
    )
    np.testing.assert_equal(got, expected)
