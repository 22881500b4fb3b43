# RemoveWeightLayoutRewriteBlock: the block stays, empty, and a second run looks for its store

from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def kernel(W: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32")):
        T.func_attr({"layout_free_buffers": [0]})
        V = T.sblock_alloc_buffer((8, 4), "float32")
        for i, j in T.grid(4, 8):
            with T.sblock("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                V[vj, vi] = W[vi, vj]
        for i, j in T.grid(8, 4):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = V[vi, vj] * T.float32(2)


if __name__ == "__main__":
    once = s_tir.transform.RemoveWeightLayoutRewriteBlock()(mod)
    s_tir.transform.RemoveWeightLayoutRewriteBlock()(once)
