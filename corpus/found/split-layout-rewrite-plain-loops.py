# SplitLayoutRewritePreproc: a PrimFunc whose root block holds loops without blocks, as several legalizations make: 'There should be a compute block'
#
# pass: SplitLayoutRewritePreproc
# oracle: crash
# fingerprint: ["crash", "SplitLayoutRewritePreproc", "InternalError", "Check failed: (current_subtree_ == -1) is false: There should be a compute block if there is only one subtree under the root."]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (current_subtree_ == -1) is false: There should be a compute block if there is only one subtree under the root.
# promise: docstring: 'Split the TIR layout rewrite into multiple TIR functions': nothing is to be split here; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

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
