# SplitLayoutRewritePreproc: a PrimFunc whose root block holds loops without blocks, as several legalizations make: 'There should be a compute block'

import tvm
from tvm import relax
from tvm.relax.transform import SplitLayoutRewritePreproc
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            for i in range(4):
                B[i] = A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.call_tir(mod.copy, (x,), out_ty=R.Tensor((4,), "float32"))


def apply(mod):
    return SplitLayoutRewritePreproc()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    new, old = tvm.s_tir.analysis, tvm.tirx.analysis
    verify_well_formed = (new if hasattr(new, "verify_well_formed") else old).verify_well_formed
    verify_well_formed(mod)
    apply(mod)
