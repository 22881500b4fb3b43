# index_tensor with a negative index reads before the data

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.index_tensor(x, [R.const(np.array([-1, -2]), "int64")])


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    x = np.array([2, 1], "float32")
    result = machine["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_array_equal(result, x[[-1, -2]])
