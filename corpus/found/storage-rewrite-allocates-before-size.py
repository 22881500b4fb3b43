# StorageRewrite: an allocation goes to the top of the function, before the variable that its size needs is bound

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int64):
        size: T.let[T.int64] = T.min(n, T.int64(8))
        B = T.alloc_buffer((size,), "float32", layout=None)
        for i in range(size):
            B[i] = A[i]
        for i in range(size):
            A[i] = B[i] + T.float32(1)


if __name__ == "__main__":
    # Before TVM 0.27 it was in tirx.
    newer = hasattr(s_tir.analysis, "verify_well_formed")
    analysis = s_tir.analysis if newer else tirx.analysis
    analysis.verify_well_formed(tirx.transform.StorageRewrite()(mod))
