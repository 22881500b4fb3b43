# StorageRewrite: vectors that get the memory of scalars fail an internal check

from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2,), "float32x4")):
        C = T.alloc_buffer((8,), "float32")
        for i in range(8):
            C[i] = A[i]
        for i in range(8):
            A[i] = C[7 - i]
        D = T.alloc_buffer((2,), "float32x4")
        for i in range(2):
            D[i] = T.Broadcast(A[i], 4)
        for i in range(2):
            B[i] = D[1 - i]


if __name__ == "__main__":
    tirx.transform.StorageRewrite()(mod)
