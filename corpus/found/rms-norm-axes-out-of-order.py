# rms_norm with axes [2, 1] reads its weight transposed

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32"), y: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2), dtype="float32") = R.nn.rms_norm(x, y, axes=[2, 1], epsilon=1.0000000000000001e-05)
        return gv


if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[[ 2.,  1.], [ 0., -2.]], [[-1., -3.], [-3., -3.]]], "float32")), tvm.runtime.tensor(np.array([[-2.,  2.], [ 1.,  3.]], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[[-2.6666608,  0.6666652], [ 0.       , -3.9999912]], [[ 0.7559284, -1.1338927], [-2.2677853, -3.401678 ]]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=0.001, atol=0.001, strict=True)
