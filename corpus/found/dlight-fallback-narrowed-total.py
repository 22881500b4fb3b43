# dlight.gpu.Fallback: a total in float32 over one element, of which the result is rounded to float16

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((4, 1), "float32"), B: T.Buffer((4,), "float16")):
        total = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 1):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        for i in range(4):
            with T.sblock("round"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.Cast("float16", total[vi])


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
    mixed = []
    tvm_ffi.structural_walk(
        after["kernel"], (tirx.Add, lambda add: mixed.append(add) if add.a.ty != add.b.ty else None)
    )
    assert not mixed, f"operands of two types: {mixed[0]}"
