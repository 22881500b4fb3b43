# SpecializePrimFuncBasedOnCallSite: extents of int32 (the default in TVMScript) or composite ones are not recognized as those of the call: 'expected an independent Var, but got 4'

import tvm
from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.call_tir(mod.copy, (x,), out_ty=R.Tensor((4,), "float32"))


def apply(mod):
    return SpecializePrimFuncBasedOnCallSite()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
