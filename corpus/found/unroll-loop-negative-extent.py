# UnrollLoop: an unrolled loop that ends before it begins

from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        for i in T.unroll(5, 2):
            B[i] = 2


if __name__ == "__main__":
    tirx.transform.UnrollLoop()(mod)
