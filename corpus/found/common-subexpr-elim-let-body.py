# CommonSubexprElim: what is computed in the body of a Let first, and again in statements behind it

from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(n: T.int32, A: T.Buffer((4,), "int32")):
        t = T.int32()
        A[0] = T.Let(t + n * n, where={t: A[1]})
        A[1] = n * n
        A[2] = n * n


if __name__ == "__main__":
    # Before TVM 0.27 it was in tirx.
    newer = hasattr(s_tir.analysis, "verify_well_formed")
    analysis = s_tir.analysis if newer else tirx.analysis
    analysis.verify_well_formed(tirx.transform.CommonSubexprElim()(mod))
