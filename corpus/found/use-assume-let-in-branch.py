# UseAssumeToReduceBranches: a Let in a branch of if_then_else

from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"op_pattern": 0})
        for i in range(8):
            T.assume(i < 2 or A[i] == 0)
        for i in range(8):
            t = T.int32()
            B[i] = T.if_then_else(i < 2, T.Let(t * t, where={t: i + 1}), A[i])


if __name__ == "__main__":
    s_tir.transform.UseAssumeToReduceBranches()(mod)
