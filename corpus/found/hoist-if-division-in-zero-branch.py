# HoistIfThenElse: a division in the branch where its divisor is 0

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32"), n: T.int64):
        for i in range(8):
            if n != T.int64(0):
                B[i] = 1
            elif B[i] > 100:
                B[i] = T.Cast("int32", T.Cast("int64", i) // n)


if __name__ == "__main__":
    s_tir.transform.HoistIfThenElse()(mod)
