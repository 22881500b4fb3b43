# InjectDoubleBuffer: a loop without iterations runs its last one all the same

import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(n: T.int32, A: T.Buffer((4,), "int32")):
        row = T.alloc_buffer((1,), "int32")
        for k in range(n):
            with T.attr(row.data, "double_buffer_scope", 1):
                row[0] = k
            A[k + 1] = row[0] + 10


def apply(mod):
    return s_tir.transform.InjectDoubleBuffer()(mod)


if __name__ == "__main__":
    a = tvm.runtime.tensor(np.zeros(4, "int32"))
    with tvm.transform.PassContext(disabled_pass=["s_tir.InjectDoubleBuffer"]):
        built = tvm.compile(apply(mod), target="llvm")
    built["main"](0, a)
    assert not a.numpy().any(), f"the loop runs 0 times and stores {a.numpy()}"
