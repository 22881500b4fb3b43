# SpecializePrimFuncBasedOnCallSite: a call_tir with an argument of unknown shape: 'Shape undefined for call'

from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def exp(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = T.exp(A[i])

    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor((2,), "float32"):
        cls = mod
        gv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    SpecializePrimFuncBasedOnCallSite()(mod)
