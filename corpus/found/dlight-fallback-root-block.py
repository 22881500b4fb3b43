# dlight.gpu.Fallback: a kernel whose only block is its root block

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        with T.sblock("fill"):
            for i in range(8):
                A[i] = T.float32(0)


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(mod)
    assert after["main"].attrs.get("tirx.is_scheduled"), "a kernel is not marked as scheduled"
