# attention whose keys and values have fewer heads computes wrong values

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 4, 2), dtype="float32"), y: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 4, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 4, 2), dtype="float32") = R.nn.attention(x, y, y, scale=None, causal_mask=None, window_size=None)
        return gv


if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[[[ 2.,  1.], [ 0., -2.], [-1., -3.], [-3., -3.]], [[-2.,  2.], [ 1.,  3.], [ 0.,  1.], [ 3.,  2.]]], [[[ 1.,  0.], [ 0.,  3.], [-2.,  2.], [ 1., -3.]], [[-1.,  3.], [ 0., -3.], [ 2.,  2.], [ 2., -2.]]]], "float32")), tvm.runtime.tensor(np.array([[[[-3.,  3.], [-3.,  0.]], [[-3., -1.], [ 0., -1.]]], [[[-1., -3.], [-3., -3.]], [[-3.,  1.], [ 0.,  1.]]]], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[[[-2.9999998e+00,  2.7767711e+00], [-2.9999998e+00, -9.8607463e-01], [-1.5000000e+00, -5.0000000e-01], [-2.9575019e+00, -1.4166038e-02]], [[-2.9999998e+00,  2.9860744e+00], [-3.0000002e+00,  2.9991744e+00], [-2.0092845e+00, -3.3023846e-01], [-2.1106062e-02, -9.9296463e-01]]], [[[-1.3911407e+00, -2.2177186e+00], [-2.9995873e+00,  9.9917424e-01], [-5.8671093e-01,  2.1771878e-01], [-2.9948411e+00, -2.9931216e+00]], [[-2.9998996e+00,  9.9979919e-01], [-1.0004129e+00, -2.9991744e+00], [-1.5059265e-04,  9.9979919e-01], [-2.4132891e+00, -2.2177188e+00]]]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=0.001, atol=0.001, strict=True)
