# CompactBufferAllocation: an index that is loaded

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        L = T.sblock_alloc_buffer((4,), "int32")
        c = T.sblock_alloc_buffer((1,), "int32")
        c[0] = 0
        while c[0] < 4:
            L[c[0]] = A[c[0]]
            c[0] = c[0] + 1
        c[0] = 0
        while c[0] < 4:
            B[c[0]] = L[c[0]]
            c[0] = c[0] + 1


if __name__ == "__main__":
    after = s_tir.transform.CompactBufferAllocation()(mod)
    s_tir.analysis.verify_well_formed(after)
