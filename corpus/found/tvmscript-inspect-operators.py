# TVMScript: R.inspect.tensor_dtype_lanes, as printed, is not known to the parser, nor are its siblings

import os

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((4,), "float32"))
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    lanes = bb.emit(relax.Call(Op.get("relax.inspect.tensor_dtype_lanes"), [x]))
    bb.emit_func_output(lanes)
mod = bb.get()


if __name__ == "__main__":
    # TVM's excepthook does not show a DiagnosticError otherwise.
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
