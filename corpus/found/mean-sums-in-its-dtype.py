# the mean of three 100s in int8 is 14

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "int8")) -> R.Tensor((), "int8"):
        gv = R.mean(x, axis=0)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    actual = machine["main"](tensor(np.full(3, 100, "int8"))).numpy()
    assert actual == 100, f"the mean of three 100s is {actual}"
