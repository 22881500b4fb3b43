# CompactBufferAllocation: arithmetic on an index of several lanes

from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        D = T.sblock_alloc_buffer((18,), "float32")
        for i in range(4):
            with T.sblock("copy"):
                T.reads(A[i * 4 : i * 4 + 4])
                T.writes(D[i * 4 + 2 : i * 4 + 6])
                D[T.Ramp(i * 4, 1, 4) + T.Broadcast(2, 4)] = A[T.Ramp(i * 4, 1, 4)]
        for i in range(16):
            with T.sblock("out"):
                T.reads(D[i + 2])
                T.writes(B[i])
                B[i] = D[i + 2]


if __name__ == "__main__":
    s_tir.transform.CompactBufferAllocation()(mod)
