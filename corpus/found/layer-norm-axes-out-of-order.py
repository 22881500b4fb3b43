# layer_norm with axes [2, 1] reads gamma and beta transposed

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32"), y: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2), dtype="float32") = R.nn.layer_norm(x, y, y, axes=[2, 1], epsilon=1.0000000000000001e-05, center=True, scale=True)
        return gv


if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[[ 2.,  1.], [ 0., -2.]], [[-1., -3.], [-3., -3.]]], "float32")), tvm.runtime.tensor(np.array([[-2.,  2.], [ 1.,  3.]], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[[-4.3664265 ,  1.5070914 ], [ 1.6619391 , -1.5638227 ]], [[-5.464079  ,  0.42265356], [ 0.8453071 ,  1.2679607 ]]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=0.001, atol=0.001, strict=True)
