"""The rule GeneralReduction of DLight raises where maxima of rows are read in reverse.

It moves each maximum to where it is read, and binds its loops to threads there, which refuses an
index that runs backwards.
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
        def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
            S = T.sblock_alloc_buffer((8,))
            for i, k in T.grid(8, 64):
                with T.sblock("max"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        S[vi] = T.min_value("float32")
                    S[vi] = T.max(S[vi], A[vi, vk])
            for i in range(8):
                with T.sblock("reverse"):
                    vi = T.axis.spatial(8, i)
                    B[vi] = S[7 - vi]

    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    return tirx.transform.BindTarget(target)(Module)
