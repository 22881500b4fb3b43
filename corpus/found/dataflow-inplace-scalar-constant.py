# DataflowUseInplaceCalls: the PrimFunc of an operator has no parameter for a scalar constant, but its operands are counted with it

from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.subtract(R.const(1, "float32"), y)
            R.output(z)
        return z


if __name__ == "__main__":
    DataflowUseInplaceCalls()(mod)
