# RenormalizeSplitPattern: a Let of a bound variable, as the value of another variable

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((1,), "uint8")):
        c: T.let[T.uint8] = T.uint8(0)
        t = T.uint8()
        v: T.let[T.uint8] = T.Let(t + T.uint8(1), where={t: c})
        B[0] = v


if __name__ == "__main__":
    s_tir.transform.RenormalizeSplitPattern()(mod)
