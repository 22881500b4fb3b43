# SpecializePrimFuncBasedOnCallSite: extents of int32 (the default in TVMScript) or composite ones are not recognized as those of the call: 'expected an independent Var, but got 4'
#
# pass: SpecializePrimFuncBasedOnCallSite
# oracle: crash
# fingerprint: ["crash", "SpecializePrimFuncBasedOnCallSite", "TypeError", "Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: TypeError: Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got
# promise: docstring: 'updates the var_buffer mapping of PrimFunctions from the call_tir info'; the well-formed checker and call_tir accept the module

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
