# TVMScript: a call of an external function of the module itself: 'Cannot find the function `copy` in the current IRModule'

import os

import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((2,), "float32"))
bb = relax.BlockBuilder()
copy = bb.add_func(relax.ExternFunc("vm.builtin.copy"), "copy")
with bb.function("main", [x], pure=False):
    bb.emit_func_output(bb.emit(relax.Call(copy, [x])))
mod = bb.get()


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
