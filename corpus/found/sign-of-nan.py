# sign of NaN is 0

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        gv: R.Tensor((1,), dtype="float32") = R.sign(x)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(np.array([np.nan], "float32"))).numpy()
    assert np.isnan(result), result
