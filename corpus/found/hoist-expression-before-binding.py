# s_tir.HoistExpression: a condition on what is bound before the loop

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "int32"), B: T.Buffer((4,), "float32")):
        limit: T.let[T.int32] = A[0]
        for k in range(4):
            B[k] = T.if_then_else(3 <= limit, T.float32(3), T.float32(0))


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(s_tir.transform.HoistExpression()(mod))
