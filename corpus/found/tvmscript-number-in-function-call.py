# TVMScript: a number among the tensors that a function is called with, as LegalizeOps makes for relax.inspect.tensor_stride_i, is printed bare, and the parser refuses it

import os

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((2, 3), "float32"))
stride = relax.Call(tvm.ir.Op.get("relax.inspect.tensor_stride_i"), [x, relax.prim_value(0)])
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    bb.emit_func_output(bb.emit(stride))
mod = bb.get()

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    with tvm.target.Target("llvm"):
        result = LegalizeOps()(mod)
    relax.analysis.well_formed(result)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)
