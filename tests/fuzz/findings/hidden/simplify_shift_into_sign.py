"""StmtSimplify raises where 1 << 31 of int32 folds to a number that int32 does not hold.

The shift comes to 1 << 31 by the simplification only; compiled code wraps around.
"""

from tvm.script import ir as I
from tvm.script import tirx as T

PASSES = "tirx.StmtSimplify"
NOT = ("arith-fold-short-constant",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
            for i in range(4):
                B[i] = A[i] + ((A[i] - i - A[i] + i + 1) << 31)

    return Module
