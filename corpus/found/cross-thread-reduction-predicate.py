# s_tir.LowerCrossThreadReduction: the block that writes the result back has no predicate

from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6,), "float32")):
        T.func_attr({"target": T.target({"kind": "vulkan", "host": {"kind": "llvm"}})})
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                for ty in T.thread_binding(32, thread="threadIdx.y"):
                    with T.sblock("sum"):
                        v = T.axis.spatial(6, bx * 4 + tx)
                        k = T.axis.reduce(32, ty)
                        T.where(bx * 4 + tx < 6)
                        with T.init():
                            B[v] = T.float32(0)
                        B[v] = B[v] + A[v, k]


if __name__ == "__main__":
    text = s_tir.transform.LowerCrossThreadReduction()(mod).script()
    back = text[text.index('"sum_write_back"') :]
    assert "< 6" in back, "threads 6 and 7 store outside of B"
