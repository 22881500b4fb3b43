# LowerIntrin: tanh of a Let

from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        t = T.float32()
        A[0] = T.tanh(T.Let(t + T.float32(1), where={t: A[0]}))


if __name__ == "__main__":
    # Before TVM 0.27 it was in tirx.
    newer = hasattr(s_tir.analysis, "verify_well_formed")
    analysis = s_tir.analysis if newer else tirx.analysis
    analysis.verify_well_formed(tirx.transform.LowerIntrin()(mod))
