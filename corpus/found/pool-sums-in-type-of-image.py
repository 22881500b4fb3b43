# the mean of nine 100s in uint8 is 14

import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((1, 1, 3, 3), "uint8"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.nn.avg_pool2d(x, (3, 3)))
    builder.emit_func_output(y)
mod = builder.get()


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


    def run(*args):
        tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
        return machine["main"](*map(tensor, args)).numpy()


    actual = run(np.full((1, 1, 3, 3), 100, "uint8"))
    assert (actual == 100).all(), f"the mean of nine 100s is {actual}"
