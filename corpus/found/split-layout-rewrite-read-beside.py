# SplitLayoutRewritePreproc: a buffer that one step repacks and another one reads as it is

import tvm
from tvm.relax.transform import SplitLayoutRewritePreproc
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def kernel(lv4_0: T.Buffer((T.int64(2), T.int64(2)), "float32"), prepacked_intermediate: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        # with T.sblock("root"):
        packed = T.sblock_alloc_buffer((1, 1))
        with T.sblock("packed"):
            T.reads(lv4_0[0, 0])
            T.writes(packed[0, 0])
            T.sblock_attr({"meta_schedule.layout_rewrite_preproc": T.bool(True)})
            packed[0, 0] = T.float32(0.0)
        for i0, i1 in T.grid(1, 1):
            with T.sblock("prepacked"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(lv4_0[v_i0, v_i1], packed[v_i1, v_i0])
                T.writes()
                prepacked_intermediate[0, 0] = T.float32(0.0)

    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        cls = mod
        gv = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2, 2), dtype="float32"))
        return gv

if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(SplitLayoutRewritePreproc()(mod))
