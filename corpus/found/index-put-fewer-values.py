# index_put: one value for two places, which type inference takes: the kernel reads behind the values

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2,), dtype="int64"), z: R.Tensor((1,), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        gv: R.Tensor((2, 2), dtype="float32") = R.index_put(x, (y, y), z, accumulate=False)
        return gv

if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[ 2.,  1.], [ 0., -2.]], "float32")), tvm.runtime.tensor(np.array([1, 0], "int64")), tvm.runtime.tensor(np.array([-2.], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[-2.,  1.], [ 0., -2.]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=2e-05, atol=4e-05, strict=True)
