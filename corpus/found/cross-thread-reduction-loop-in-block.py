# s_tir.LowerCrossThreadReduction: a block of the result uses the variable of a loop around it

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T

@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def conv2d(conv2d_nchw: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1)), "float32")):
        # with T.sblock("root"):
        for ax0 in T.thread_binding(T.int64(1), thread="threadIdx.y"):
            with T.sblock("conv2d_nchw"):
                vax3_fused_1 = T.axis.reduce(T.int64(1), ax0)
                v0 = T.axis.spatial(T.int64(2), T.FloorDiv(T.int64(0), T.int64(4)))
                v1 = T.axis.spatial(T.int64(4), T.FloorMod(T.int64(0), T.int64(4)))
                T.reads()
                T.writes(conv2d_nchw[v0, T.int64(0), v1, T.int64(0)])
                with T.init():
                    conv2d_nchw[v0, T.int64(0), v1, T.int64(0)] = T.float32(0.0)
                conv2d_nchw[v0, T.int64(0), v1, T.int64(0)] = T.Add(conv2d_nchw[v0, T.int64(0), v1, T.int64(0)], T.float32(0.0))

if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(s_tir.transform.LowerCrossThreadReduction()(mod))
