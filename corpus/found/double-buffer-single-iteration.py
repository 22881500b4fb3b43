# InjectDoubleBuffer: a buffer that is used in turn, in a loop of one iteration

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 8), "float32")):
        row = T.alloc_buffer((8,), "float32")
        for i in range(1):
            with T.attr(row.data, "double_buffer_scope", 1):
                for j in range(8):
                    row[j] = A[i, j]
            for j in range(8):
                B[i, j] = row[j] + T.float32(1)


if __name__ == "__main__":
    tirx.build(mod, target=tvm.target.Target("llvm"))
