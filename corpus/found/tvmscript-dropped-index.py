# TVMScript: the index into a buffer of one element

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        C = T.alloc_buffer((1,), "int32", scope="local")
        for i in range(1):
            C[i] = 1
        A[0] = C[0]


if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
