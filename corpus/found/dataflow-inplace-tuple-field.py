# DataflowUseInplaceCalls: a tensor is overwritten though a tuple holds it that is used later

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
