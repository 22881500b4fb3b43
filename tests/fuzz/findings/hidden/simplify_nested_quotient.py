"""StmtSimplify raises for x // 100000 // 100000 of int32.

The canonical simplifier multiplies the two divisors, and their product does not fit into int32.
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
                B[i] = A[i] // 100000 // 100000

    return Module
