# dlight.ApplyDefaultSchedule: the module that it is given is changed

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target({"kind": "vulkan", "host": {"kind": "llvm"}})})
        for i in range(4):
            with T.sblock("ones"):
                v = T.axis.spatial(4, i)
                A[v] = T.float32(1)


if __name__ == "__main__":
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
    tvm.ir.assert_structural_equal(mod, before, map_free_vars=True)
