# an If whose condition is a float is well-formed and builds, and the virtual machine raises an InternalError

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "float32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            gv = R.add(x, x)
            gv1 = gv
        else:
            gv1 = x
        return gv1


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    machine["main"](tensor(np.array(1, "float32")), tensor(np.ones(2, "float32")))
