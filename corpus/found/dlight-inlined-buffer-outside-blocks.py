# dlight.gpu.Fallback: a block is inlined whose buffer is accessed outside of blocks, too

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1,), "float32")):
        C = T.sblock_alloc_buffer((1,), "float32")
        with T.sblock("block"):
            C[0] = A[0]
        C[0] = T.float32(1)


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
    s_tir.analysis.verify_well_formed(after)
