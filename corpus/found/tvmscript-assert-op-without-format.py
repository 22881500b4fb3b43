# TVMScript: an assertion without a text is not printed

import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((), "bool"))
builder = relax.BlockBuilder()
with builder.function("main", [x], pure=False):
    builder.emit(relax.Call(tvm.ir.Op.get("relax.assert_op"), [x]))
    builder.emit_func_output(x)
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
