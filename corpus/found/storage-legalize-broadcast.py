# BF16StorageLegalize: a vector of one bfloat16 is stored

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "bfloat16")):
        for i in T.vectorized(4):
            A[i] = T.bfloat16(0)


if __name__ == "__main__":
    tvm.compile(mod, "llvm")
