# HoistIfThenElse: an if in an if, of which the outer one has an else

import numpy as np
import tvm
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
    # tvm.compile runs the pass as well.
    after = s_tir.transform.HoistIfThenElse()(mod)
    built = tvm.compile(after, target="llvm")
    args = [np.zeros(8, "int32"), 1]
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    built["main"](*tensors)
    expected = [0, 0, 0, 0, 2, 2, 2, 2]
    np.testing.assert_array_equal(tensors[0].numpy(), expected)
