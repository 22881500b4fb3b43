"""The rule Reduction of DLight raises for a sum that starts at 1.

It splits each sum with rfactor, which knows only those that start at 0.
"""

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

PASSES = "dlight.ApplyDefaultSchedule"
NOT = ("dlight-rules-without-root-block",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
            for i, k in T.grid(8, 64):
                with T.sblock("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(1)
                    B[vi] = B[vi] + A[vi, vk]

    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    return tirx.transform.BindTarget(target)(Module)
