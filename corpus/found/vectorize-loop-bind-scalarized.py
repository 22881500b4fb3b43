# VectorizeLoop: a variable whose value cannot be a vector

from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.vectorized(8):
            t: T.let[T.int32] = T.if_then_else(i < 4, A[i], 0)
            B[i] = t


if __name__ == "__main__":
    after = tirx.transform.VectorizeLoop()(mod)
    s_tir.analysis.verify_well_formed(after)
