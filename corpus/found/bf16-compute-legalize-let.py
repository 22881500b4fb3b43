# BF16ComputeLegalize: a variable of bfloat16 that a statement binds gets a value of another type

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "bfloat16")):
        for i in range(4):
            v: T.let[T.bfloat16] = A[i] + A[i]
            B[i] = v * v


if __name__ == "__main__":
    tirx.transform.BF16ComputeLegalize()(mod)
