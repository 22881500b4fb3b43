# BF16StorageLegalize: a vectorized loop that stores one value

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "bfloat16")):
        for i in T.vectorized(8):
            A[i] = T.bfloat16(1)


if __name__ == "__main__":
    tvm.compile(mod, "llvm")
