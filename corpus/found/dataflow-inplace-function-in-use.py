# DataflowUseInplaceCalls: the PrimFunc that an operator is legalized to is removed, though it was there before and another call uses it

from tvm import relax, topi
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import relax as R

builder = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((2,), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_te(topi.add, x, x)
        z = builder.emit_output(relax.op.add(y, y))
    builder.emit_func_output(z)
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(DataflowUseInplaceCalls()(mod))
