# TVMScript: the attributes of an external function are not printed

import tvm
import tvm.script
from tvm import relax

kernel = relax.ExternFunc("kernel").with_attr("c_source", "void kernel() {}")
builder = relax.BlockBuilder()
tensor = getattr(relax, "TensorStructInfo", relax.TensorType)
x = relax.Var("x", tensor((2,), "float32"))
with builder.function("main", [x]):
    call = relax.op.call_dps_packed(kernel, [x], tensor((2,), "float32"))
    builder.emit_func_output(builder.emit(call))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    parsed = tvm.script.from_source(mod.script(show_meta=True), check_well_formed=False)
    tvm.ir.assert_structural_equal(parsed, mod)
