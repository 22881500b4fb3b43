# DataflowUseInplaceCalls: the PrimFunc of an operator has no parameter for a scalar constant, but its operands are counted with it
#
# pass: DataflowUseInplaceCalls
# oracle: crash
# fingerprint: ["crash", "DataflowUseInplaceCalls", "ValueError", "In-place index <n> is out of range (must be between -<n> and <n>, inclusive, but is"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: In-place index
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; docstring of DataflowUseInplaceCalls: 'Supported operators will be replaced by calls to `call_tir_inplace`'

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
