# PointerValueTypeRewrite: a bool buffer that is written as vectors and read as scalars

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "bool")):
        S = T.alloc_buffer((64,), "bool", layout=None)
        S[0:4] = T.Broadcast(T.bool(False), 4)
        A[0] = S[8]


if __name__ == "__main__":
    tirx.transform.PointerValueTypeRewrite()(mod)
