# UseAssumeToReduceBranches: an assumption without a buffer

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        T.func_attr({"op_pattern": 0})
        for i in range(8):
            T.evaluate(T.assume(i < 8))
            B[i] = i


if __name__ == "__main__":
    s_tir.transform.UseAssumeToReduceBranches()(mod)
