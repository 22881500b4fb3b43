# LegalizeOps: an operator without legalization is left, and no other pass lowers it:
# "CodeGenVM cannot handle this intrinsic", "cannot emit this Relax operator directly"
#
# pass: LegalizeOps
# oracle: lowering-complete
# tvm: fails on 0.17.dev0, 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: AssertionError
# promise: docstring of LegalizeOps: 'Legalize high-level operator calls in Relax functions to
#   call_tir with corresponding low-level TIR PrimFuncs'

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            gv = R.ewise_fma(x, x, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.ewise_fma(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.ewise_fma as it is, and the build fails"
        raise error
