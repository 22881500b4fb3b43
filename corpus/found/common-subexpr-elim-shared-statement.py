# CommonSubexprElim: a statement that stands twice in the body, as UnrollLoop makes it

from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(B: T.Buffer((4,), "int32"), n: T.int32, m: T.int32):
        for i in T.unroll(2):
            B[0] = B[0] * (n + m) + (n + m)


mod = tirx.transform.UnrollLoop()(Module)

if __name__ == "__main__":
    text = tirx.transform.CommonSubexprElim()(mod).script()
    assert text.count("n + m") == 1, "the sum is computed twice"
