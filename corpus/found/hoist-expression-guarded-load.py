# HoistExpression: the value of a Let that a condition guards is computed outside of the condition: a load outside of its buffer

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((5,), "float64"), B: T.Buffer((5, 4), "float64")):
        for i in range(6):
            for j in range(4):
                if i < 5:
                    t = T.float64()
                    B[i, j] = T.Let(t + t, where={t: A[i]})


if __name__ == "__main__":
    # Compiled code hides it: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros(5), np.zeros((5, 4))]
    assert sanitize(mod["main"], args, outputs=[1]) is None
    after = s_tir.transform.HoistExpression()(mod)
    fault = sanitize(after["main"], args, outputs=[1])
    assert fault is None, fault
