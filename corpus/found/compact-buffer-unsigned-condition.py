# CompactBufferAllocation: a condition on an unsigned variable

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((), "uint8", layout=None), B: T.Buffer((), "uint8", layout=None)):
        v: T.let[T.uint8] = A[()]
        B[()] = T.if_then_else(T.uint8(1) == v, A[()], T.uint8(0))


if __name__ == "__main__":
    s_tir.transform.CompactBufferAllocation()(mod)
