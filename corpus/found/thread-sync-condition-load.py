# ThreadSync: a condition that reads shared memory

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((64,), "int32", scope="shared", layout=None)
        S[tx] = A[tx]
        if S[63 - tx] > 3:
            B[tx] = 1


if __name__ == "__main__":
    s_tir.transform.ThreadSync("shared")(mod)
