# PointerValueTypeRewrite: an index that is a multiple of more than the elements of a vector

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        S = T.alloc_buffer((64,), "float32", layout=None)
        S[0:2] = T.Broadcast(T.float32(0), 2)
        for i in range(8):
            A[i] = S[i * 8]


if __name__ == "__main__":
    tirx.transform.PointerValueTypeRewrite()(mod)
