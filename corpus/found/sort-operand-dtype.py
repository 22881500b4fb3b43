# sort of int16 builds, and raises 'Unsupported input dtype: int16' in the virtual machine

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "int16")) -> R.Tensor((3,), "int16"):
        gv = R.sort(x, axis=0)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    actual = machine["main"](tensor(np.array([3, 1, 2], "int16"))).numpy()
    np.testing.assert_array_equal(actual, np.array([1, 2, 3], "int16"))
