# LegalizeOps: a tensor of unknown dtype is neither lowered nor refused by name: 'Back optional
# access'. Before TVM 0.26, StaticPlanBlockMemory failed in its place
#
# pass: LegalizeOps
# oracle: crash
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: RuntimeError
# promise: docstring of LegalizeOps: 'Legalize high-level operator calls in Relax functions to
#   call_tir with corresponding low-level TIR PrimFuncs'; docs/contribute/error_handling.rst: 'TVM
#   contains structured error classes to indicate specific types of error'

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,))):
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.build(mod, tvm.target.Target("llvm"))
