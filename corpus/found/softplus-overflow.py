# softplus of float16: infinite for 12, below the threshold of 20

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), dtype="float16")) -> R.Tensor((3,), dtype="float16"):
        gv: R.Tensor((3,), dtype="float16") = R.nn.softplus(x, beta=1.0, threshold=20.0)
        return gv

if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine["main"](tvm.runtime.tensor(np.array([0, 12, 19], "float16"))).numpy()
    expected = np.array([0.6934, 12, 19], "float16")
    np.testing.assert_allclose(actual, expected, rtol=2e-3, strict=True)
