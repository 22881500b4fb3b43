# FoldBatchnormToConv2D: after an If, a shape of the function's symbolic dimensions becomes unknown, and the type inference of eye_like reads it: 'Back optional access'
#
# pass: FoldBatchnormToConv2D
# oracle: crash
# fingerprint: ["crash", "FoldBatchnormToConv2D", "RuntimeError", "Back optional access"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: RuntimeError: Back optional access
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

from tvm.relax.transform import FoldBatchnormToConv2D
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", "n"), "float32")):
        if c:
            lv = R.nn.relu(x)
            y = lv
        else:
            y = x
        z = R.eye_like(y, 0)
        return z


if __name__ == "__main__":
    FoldBatchnormToConv2D()(mod)
