# LegalizeOps: meshgrid with indexing "xy" gets other shapes than were inferred

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):
        z = R.meshgrid((x, y), indexing="xy")
        return z


if __name__ == "__main__":
    ret = getattr(mod["main"], "ret_ty", None) or mod["main"].ret_struct_info
    inferred = tuple(int(dim) for dim in ret.fields[0].shape)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    args = [tensor(np.arange(size, dtype="float32")) for size in (2, 3)]
    actual = machine["main"](*args)[0].numpy().shape
    assert actual == inferred, f"expected {inferred} but got {actual}"
