# FoldBatchnormToConv2D: a batch_norm in training is normalized by the moving statistics

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import FoldBatchnormToConv2D
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 1, 1, 1), dtype="float32")):
        gv = R.nn.conv2d(x, R.const([[[[1.0]]]], "float32"))
        gv1 = R.nn.batch_norm(
            gv,
            R.const([1.0], "float32"),
            R.const([0.0], "float32"),
            R.const([0.0], "float32"),
            R.const([1.0], "float32"),
            axis=1,
            training=True,
        )
        gv2 = gv1[0]
        return gv2


def run(module):
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    x = np.array([1, 3], "float32").reshape(2, 1, 1, 1)
    return machine["main"](tvm.runtime.tensor(x)).numpy()


if __name__ == "__main__":
    # The mean of the batch is 2, its variance 1: the results are -1 and 1.
    np.testing.assert_allclose(run(FoldBatchnormToConv2D()(mod)), run(mod), rtol=1e-3)
