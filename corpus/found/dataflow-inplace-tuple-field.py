# DataflowUseInplaceCalls: a tensor is overwritten though a tuple holds it that is used later
#
# pass: DataflowUseInplaceCalls
# oracle: evaluated
# fingerprint: ["evaluated", "DataflowUseInplaceCalls", "values"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: AssertionError: Arrays are not equal
# promise: docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.negative(x)
            pair = (y, x)
            z = R.nn.relu(y)
            w = pair[0]
            R.output(z, w)
        return (z, w)


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(DataflowUseInplaceCalls()(mod), "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    _, actual = machine["main"](tensor(np.array([1, -2], "float32")))
    np.testing.assert_array_equal(actual.numpy(), np.array([-1, 2], "float32"))
