# Gradient: of take in the modes clip and wrap the mode is lost, so that the kernel writes to indices as they are

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.take(x, R.const([0, 7], "int32"), axis=0, mode="clip")
            gv: R.Tensor((), dtype="float32") = R.sum(lv, axis=None, keepdims=False)
            R.output(gv)
        return gv

if __name__ == "__main__":
    after = Gradient('main')(mod)
    machine = relax.VirtualMachine(relax.build(after, "llvm"), tvm.cpu())
    _, (gradient,) = machine["main_adjoint"](tvm.runtime.tensor(np.zeros(4, "float32")))
    np.testing.assert_array_equal(gradient.numpy(), np.array([1, 0, 0, 1], "float32"))
