# FuseTIR: a primitive function gives back a parameter beside its result: 'There must be an in-place index specified for each output'

from tvm import relax
from tvm.relax.transform import FuseTIR
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("exp"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = T.exp(A[v])

    @R.function(private=True)
    def fused(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        R.func_attr({"Primitive": True})
        cls = mod
        with R.dataflow():
            gv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return (gv, x)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        cls = mod
        gv = cls.fused(x)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTIR()(mod)
