# Gradient: the gradient of an operator is built with the shape of its operand, which is unknown

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
