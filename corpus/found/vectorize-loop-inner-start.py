# VectorizeLoop: an inner loop that starts at 2

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.vectorized(8):
            for j in range(2, 4):
                B[i] = A[i] + j


if __name__ == "__main__":
    tirx.transform.VectorizeLoop()(mod)
