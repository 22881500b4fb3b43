"""StmtSimplify raises for a comparison of int32 whose two constants lie too far apart.

The canonical simplifier moves both constants to one side, and their difference does not fit.
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
        def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "bool")):
            for i in range(4):
                B[i] = A[i] + 2000000000 < -2000000000

    return Module
