# topk with indices of int8 raises 'Unsupported output dtype' in the virtual machine

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((1,), "int8"):
        return R.topk(x, k=1, ret_type="indices", dtype="int8")


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine["main"](tvm.runtime.tensor(np.array([1.0, 2.0], "float32")))
    np.testing.assert_array_equal(actual.numpy(), np.array([1], "int8"), strict=True)
