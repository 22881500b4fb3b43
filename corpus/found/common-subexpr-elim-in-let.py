# CommonSubexprElim: what a Let has inside, too, is bound behind it

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), n: T.int64):
        t = T.float32()
        B[0] = T.Let(A[n + T.int64(1)] * t, where={t: A[0]})
        B[1] = A[n + T.int64(1)] + A[n + T.int64(1)]


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(tirx.transform.CommonSubexprElim()(mod))
