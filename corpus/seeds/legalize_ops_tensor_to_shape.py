# LegalizeOps: tensor_to_shape is left, and no other pass lowered it
#
# pass: LegalizeOps
# oracle: lowering-complete
# tvm: fails on 0.17.dev0; fixed in 0.25.0.post1
# fails with: AssertionError
# upstream: https://github.com/apache/tvm/issues/17175
# promise: docstring of LegalizeOps: 'Legalize high-level operator calls in Relax functions to
#   call_tir with corresponding low-level TIR PrimFuncs'

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "int64")):
        with R.dataflow():
            gv = R.tensor_to_shape(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.tensor_to_shape(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.tensor_to_shape as it is, and the build fails"
        raise error
