"""StmtSimplify raises for a sum of products of int32 whose factors add up to more than int32 holds.

The canonical simplifier adds the factors of one variable in 64 bits; compiled code wraps around.
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
                B[i] = A[i] * 1073741824 + (i + A[i] * 1073741824)

    return Module
