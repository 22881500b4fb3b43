# scatter_elements whose indices are shorter than the data along another axis writes to other places

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        data: R.Tensor((2, 2, 2), "float32"),
        indices: R.Tensor((2, 2, 1), "int64"),
        updates: R.Tensor((2, 2, 1), "float32"),
    ) -> R.Tensor((2, 2, 2), "float32"):
        gv = R.scatter_elements(data, indices, updates, axis=0)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    indices = np.array([[[0], [1]], [[1], [0]]], "int64")
    updates = np.array([[[1], [2]], [[3], [4]]], "float32")
    expected = np.zeros((2, 2, 2), "float32")
    for i, j, k in np.ndindex(2, 2, 1):
        expected[indices[i, j, k], j, k] = updates[i, j, k]
    args = map(tensor, (np.zeros((2, 2, 2), "float32"), indices, updates))
    np.testing.assert_array_equal(machine["main"](*args).numpy(), expected)
