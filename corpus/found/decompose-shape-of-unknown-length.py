# DecomposeOpsForInference: tensor_to_shape of x: (n,) is taken for the shape of a scalar

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import DecomposeOpsForInference
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), dtype="int64")) -> R.Shape(ndim=-1):
        gv: R.Shape(ndim=-1) = R.tensor_to_shape(x)
        return gv


if __name__ == "__main__":
    built = relax.build(DecomposeOpsForInference(func_name="main")(mod), "llvm")
    machine = relax.VirtualMachine(built, tvm.cpu())
    shape = machine["main"](tvm.runtime.tensor(np.array([2, 3], "int64")))
    assert list(shape) == [2, 3], shape
