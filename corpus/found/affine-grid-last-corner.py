# affine_grid with align_corners: the last corner of the grid is at 1 - 1e-7, in float64 as well

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 2, 3), "float64")):
        y = R.image.affine_grid(x, R.shape([2, 2]), align_corners=True)
        return y


if __name__ == "__main__":
    identity = np.array([[[1, 0, 0], [0, 1, 0]]], "float64")
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine["main"](tvm.runtime.tensor(identity)).numpy()
    expected = [[[[-1, 1], [-1, 1]], [[-1, -1], [1, 1]]]]
    np.testing.assert_allclose(actual, expected, rtol=1e-10)
