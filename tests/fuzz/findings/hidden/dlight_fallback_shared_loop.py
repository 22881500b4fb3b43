"""The rule Fallback of DLight raises for two steps that share their outer loop.

It reorders the loops of each step without a look at what else they hold.
"""

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

PASSES = "dlight.ApplyDefaultSchedule"
NOT = (
    "dlight-cpu-reduction-output",
    "dlight-cpu-reduction-shared-loop",
    "dlight-fallback-two-writers",
    "dlight-gemv-weight-read-again",
)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(
            A: T.Buffer((8, 16), "float32"),
            B: T.Buffer((8, 16), "float32"),
            C: T.Buffer((8, 16), "float32"),
        ):
            for i in range(8):
                for j in range(16):
                    with T.sblock("twice"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = A[vi, vj] * T.float32(2)
                for j in range(16):
                    with T.sblock("more"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = A[vi, vj] + T.float32(1)

    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    return tirx.transform.BindTarget(target)(Module)
