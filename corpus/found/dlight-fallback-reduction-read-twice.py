# dlight.gpu.Fallback: a reduction over one element that two blocks read

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((2, 1), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float32")
    ):
        S = T.sblock_alloc_buffer((2,), "float32")
        for i, k in T.grid(2, 1):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        for i in range(2):
            with T.sblock("B"):
                vi = T.axis.spatial(2, i)
                B[vi] = S[vi] * T.float32(2)
        for i in range(2):
            with T.sblock("C"):
                vi = T.axis.spatial(2, i)
                C[vi] = S[vi] * T.float32(3)


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
    s_tir.analysis.verify_well_formed(after)
