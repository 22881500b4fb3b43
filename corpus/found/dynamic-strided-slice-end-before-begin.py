# dynamic_strided_slice: a slice that ends before it begins gets a negative extent

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((8,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
        gv: R.Tensor(dtype="float32", ndim=1) = R.dynamic_strided_slice(
            x, R.const([5], "int64"), R.const([2], "int64"), R.const([1], "int64")
        )
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(np.zeros(8, "float32"))).numpy()
    assert result.shape == (0,), result.shape
