# Gradient: the gradient of an exclusive cumsum is that of the inclusive one

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32"), weights: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            sums = R.cumsum(x, axis=0, exclusive=True)
            weighted = R.multiply(sums, weights)
            gv = R.sum(weighted)
            R.output(gv)
        return gv


if __name__ == "__main__":
    built = relax.build(Gradient("main")(mod), "llvm")
    weights = tvm.runtime.tensor(np.array([1, 2, 3, 4], "float32"))
    x = tvm.runtime.tensor(np.ones(4, "float32"))
    _, gradients = relax.VirtualMachine(built, tvm.cpu())["main_adjoint"](x, weights)
    # The element i of x is in all sums behind it.
    np.testing.assert_allclose(gradients[0].numpy(), [9, 7, 4, 0])
