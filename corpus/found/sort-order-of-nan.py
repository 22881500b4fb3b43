# where sort puts NaN depends on its place

import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((3,), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.sort(x, axis=0))
    builder.emit_func_output(y)
mod = builder.get()


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


    def run(*args):
        tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
        return machine["main"](*map(tensor, args)).numpy()


    one = run(np.array([np.nan, -3, 2], "float32"))
    other = run(np.array([2, np.nan, -3], "float32"))
    np.testing.assert_array_equal(one, other)
