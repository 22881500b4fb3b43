# FuseTIR: a group that FuseOps makes of calls whose operand has an unknown shape: 'FuseTIR expects all Tensor parameters have a known shape.'

from tvm import relax
from tvm.relax.transform import FuseOps, FuseTIR
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(2):
            with T.sblock("b"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((2,), "float32"):
        cls = mod
        with R.dataflow():
            lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((2,), "float32"))
            gv = R.call_tir(cls.f, (lv,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTIR()(FuseOps()(mod))
