# TVMScript: an output of a dataflow block whose type names another output of it is made twice when its script is read, and what is returned is the one without a definition: 'Program is not well-formed'

import os

import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((2,), "int64"))
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    with bb.dataflow():
        shape = bb.emit_output(relax.op.tensor_to_shape(x))
        ones = bb.emit_output(relax.op.ones(shape, "float32"))
    bb.emit_func_output(ones)
mod = bb.get()

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
