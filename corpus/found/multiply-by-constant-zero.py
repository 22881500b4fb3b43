# NaN times a constant 0 is 0

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        gv = R.multiply(x, R.const(0, "float32"))
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    actual = machine["main"](tensor(np.array([np.nan, np.inf], "float32"))).numpy()
    assert np.isnan(actual).all(), f"nan and infinity times 0 are {actual}"
