# DetectIterMap: a remainder of a remainder keeps its iterator in the base, and a buffer gets it in its shape

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((12,), "float32", layout=None)):
        F = T.alloc_buffer((3,), "float32", layout=None)
        F[0] = T.float32(0)
        for i in range(12):
            A[i] = F[i % 7 % 3]


if __name__ == "__main__":
    s_tir.analysis.verify_well_formed(s_tir.transform.CompactBufferAllocation()(mod))
