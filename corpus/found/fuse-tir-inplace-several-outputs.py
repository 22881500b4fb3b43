# FuseTIR: a primitive function that calls call_tir_inplace with two outputs: 'Index 1 out of bounds 1'

from tvm import relax
from tvm.relax.transform import FuseTIR
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def copy_and_bump(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("copy"):
                v = T.axis.spatial(2, i)
                B[v] = A[v]
        for i in range(2):
            with T.sblock("bump"):
                v = T.axis.spatial(2, i)
                A[v] = A[v] + T.float32(1)

    @R.function(private=True)
    def fused(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        R.func_attr({"Primitive": True})
        cls = mod
        with R.dataflow():
            gv = R.call_tir_inplace(
                cls.copy_and_bump,
                (x,),
                inplace_indices=[0, -1],
                out_ty=[R.Tensor((2,), "float32"), R.Tensor((2,), "float32")],
            )
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        cls = mod
        y = R.add(x, x)
        gv = cls.fused(y)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTIR()(mod)
