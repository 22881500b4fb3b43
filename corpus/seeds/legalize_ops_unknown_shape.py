# LegalizeOps: an operator is left where a shape is unknown, and no other pass lowers it
#
# pass: LegalizeOps
# oracle: lowering-complete
# tvm: fails on 0.17.dev0, 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: AssertionError
# upstream: https://github.com/apache/tvm/issues/17964, https://github.com/apache/tvm/issues/20192
# promise: docstring of LegalizeOps: 'Legalize high-level operator calls in Relax functions to
#   call_tir with corresponding low-level TIR PrimFuncs'

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")):
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.add(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.add as it is, and the build fails"
        raise error
