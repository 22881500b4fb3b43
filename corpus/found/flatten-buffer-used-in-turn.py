# FlattenBuffer: the attribute of a buffer that is used in turn names a buffer that is gone

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        row = T.alloc_buffer((1,), "float32")
        for i in range(8):
            with T.attr(row.data, "double_buffer_scope", 1):
                row[0] = A[i]
            B[i] = row[0] + T.float32(1)


if __name__ == "__main__":
    s_tir.transform.InjectDoubleBuffer()(tirx.transform.FlattenBuffer()(mod))
