# dlight.gpu.GeneralReduction: the gradient of a pooling, whose last block reads the places of the
# maxima at computed indices

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(B: T.Buffer((1, 1, 1, 1), "float32")):
        places = T.sblock_alloc_buffer((1, 1, 1, 1), "int64")
        for a, b, c, d, h, w in T.grid(1, 1, 1, 1, 1, 2):
            with T.sblock("argmax"):
                va, vb, vc, vd, vh, vw = T.axis.remap("SSSSRR", [a, b, c, d, h, w])
                T.reads()
                T.writes(places[va, vb, vc, vd])
                with T.init():
                    places[va, vb, vc, vd] = T.int64(-1)
                T.evaluate(0)
        for a, b, c, d, h, w in T.grid(1, 2, 1, 1, 1, 1):
            with T.sblock("grad"):
                va, vb, vc, vd, vh, vw = T.axis.remap("SSSSSS", [a, b, c, d, h, w])
                T.reads(places[va, T.Div(vb, 3) - vh, T.Div(vc, 2) - vw, vd])
                T.writes()
                B[0, 0, 0, 0] = T.float32(0)


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.GeneralReduction())(mod)
