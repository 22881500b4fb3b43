# relax.build: bytecode cannot call a function that returns an empty tuple: 'reg < frame->register_file.size()'; compiled VM code can

import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

builder = relax.BlockBuilder()
with builder.function("nothing", [], private=True):
    nothing = builder.emit_func_output(relax.Tuple([]))
x = relax.Var("x", R.Tensor((), "int32"))
with builder.function("main", [x]):
    builder.emit(relax.Call(nothing, []))
    builder.emit_func_output(x)
mod = builder.get()

if __name__ == "__main__":
    for mode in ("compiled", "bytecode"):
        built = relax.build(mod, "llvm", exec_mode=mode)
        machine = relax.VirtualMachine(built, tvm.cpu())
        assert machine["main"](tvm.runtime.tensor(np.int32(3))).numpy() == 3, mode
