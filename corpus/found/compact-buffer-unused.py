# CompactBufferAllocation: a buffer of a block that nothing accesses

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1,), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes(A[0])
            B = T.sblock_alloc_buffer((1,))
            A[0] = T.float32(0)


if __name__ == "__main__":
    s_tir.transform.CompactBufferAllocation()(mod)
