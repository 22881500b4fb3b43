# Gradient: the gradient of an operator is built with the shape of its operand, which is unknown
#
# pass: Gradient
# oracle: crash
# fingerprint: ["crash", "Gradient", "InternalError", "Check failed: (n.defined()) is false: Found null pointer node while traversing AST. The previous pass may have generated invalid data."]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (n.defined()) is false: Found null pointer node while traversing AST.
# promise: docstring of Gradient asks for one dataflow block and a scalar target only; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)):
        with R.dataflow():
            y = R.sum(x)
            R.output(y)
        return y


if __name__ == "__main__":
    Gradient("main")(mod)
