# what max gives for NaN depends on its place among the elements

import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((3,), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.max(x, axis=0))
    builder.emit_func_output(y)
mod = builder.get()


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


    def run(*args):
        tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
        return machine["main"](*map(tensor, args)).numpy()


    nan = np.nan
    first, last = (run(np.array(each, "float32")) for each in ([nan, 1, 2], [1, 2, nan]))
    assert np.isnan(first) == np.isnan(last), f"max of [nan, 1, 2] is {first}, of [1, 2, nan] {last}"
