# RemoveUnusedParameters, within FuseTIR: a number parameter comes a second time, as a shape

from tvm import relax
from tvm.relax.transform import FuseTIR
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def filled(number: T.int64, B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("filled"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = T.Cast("float32", number)

    @R.function(private=True)
    def fused(x: R.Tensor((2,), "float32"), number: T.int64) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        cls = mod
        with R.dataflow():
            gv = R.call_tir(cls.filled, (number,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32"), number: T.int64) -> R.Tensor((2,), "float32"):
        cls = mod
        gv: R.Tensor((2,), "float32") = cls.fused(x, number)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTIR()(mod)
