# log_add_exp of 100 and 99 is infinite

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.log_add_exp(R.const([100.0, -200.0], "float32"), R.const([1.0, 1.0], "float32"))
        return gv


if __name__ == "__main__":
    args = []
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([100.,   1.], "float32")
    np.testing.assert_allclose(actual, expected, rtol=2e-05, atol=0.0008, strict=True)
