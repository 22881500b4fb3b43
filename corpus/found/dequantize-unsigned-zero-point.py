# dequantize with a zero point of uint32 gives 4294967295 for -1

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="int32")) -> R.Tensor((2, 2), dtype="float32"):
        gv: R.Tensor((2, 2), dtype="float32") = R.dequantize(x, R.const([1.0, 1.0], "float32"), R.const([1, 1], "uint32"), out_dtype="float32", axis=-1)
        return gv


if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[ 2,  1], [ 0, -2]], "int32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[ 1.,  0.], [-1., -3.]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=2e-05, atol=4e-05, strict=True)
