# UnrollLoop: an inner loop whose extent is the variable of an unrolled one

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        for i in T.unroll(1):
            for _ in range(i):
                A[0] = T.float32(0)


if __name__ == "__main__":
    once = tirx.transform.UnrollLoop()(mod)
    twice = tirx.transform.UnrollLoop()(once)
    tvm.ir.assert_structural_equal(twice, once)
