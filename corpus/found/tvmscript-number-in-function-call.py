# TVMScript: a number among the tensors that a function is called with, as LegalizeOps makes for relax.inspect.tensor_stride_i, is printed bare, and the parser refuses it
#
# pass: TVMScript
# oracle: tvmscript
# fingerprint: ["tvmscript", "TVMScript", "Do not know how to handle GlobalVar.__call__ for types <list>"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: DiagnosticError: error: Do not know how to handle GlobalVar.__call__ for types <list>
# promise: docs/arch/tvmscript.rst, 'Roundtrip guarantee': 'For any IRModule constructed through the compiler: ... tvm.ir.assert_structural_equal(mod, reparsed)'

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
