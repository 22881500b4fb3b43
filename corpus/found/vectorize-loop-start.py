# VectorizeLoop: a vectorised loop that does not start at 0

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        for i in T.vectorized(4, 8):
            B[i] = i


if __name__ == "__main__":
    tirx.transform.VectorizeLoop()(mod)
