# topk of 9 of 3 elements gives 9, six of which nobody wrote

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="int64")):
        gv: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="int64")) = R.topk(x, k=9, axis=-1, ret_type="both", largest=True, dtype="int64")
        return gv


if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([2., 1.], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = [value.numpy() for value in actual]
    expected = (np.array([2., 1.], "float32"), np.array([0, 1], "int64"), )
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-05, atol=4e-05, strict=True)
