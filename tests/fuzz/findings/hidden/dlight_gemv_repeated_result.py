"""The rule GEMV of DLight raises where the last step repeats each element of the product.

A block of threads computes more elements of that step than of the product, and the rule asserts
that it does not.
"""

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

PASSES = "dlight.ApplyDefaultSchedule"
NOT = ("dlight-transpose-chain",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(
            A: T.Buffer((64,), "float32"),
            W: T.Buffer((32, 64), "float32"),
            B: T.Buffer((64,), "float32"),
        ):
            S = T.sblock_alloc_buffer((32,))
            for j, k in T.grid(32, 64):
                with T.sblock("product"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    with T.init():
                        S[vj] = T.float32(0)
                    S[vj] = S[vj] + A[vk] * W[vj, vk]
            for j in range(64):
                with T.sblock("repeat"):
                    vj = T.axis.spatial(64, j)
                    B[vj] = S[vj // 2]

    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    return tirx.transform.BindTarget(target)(Module)
