# maximum of x and NaN is x, of NaN and x it is NaN

import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((1,), "float32"))
y = relax.Var("y", R.Tensor((1,), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x, y]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.maximum(x, y))
    builder.emit_func_output(y)
mod = builder.get()


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


    def run(*args):
        tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
        return machine["main"](*map(tensor, args)).numpy()


    one, nan = np.array([1], "float32"), np.array([np.nan], "float32")
    assert np.isnan(run(one, nan)) == np.isnan(run(nan, one)), (run(one, nan), run(nan, one))
