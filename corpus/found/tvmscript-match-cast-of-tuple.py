# TVMScript: a match_cast of an inline tuple is printed as `R.match_cast((x,), ...)`, which the parser refuses

import tvm
from tvm import relax

ty = relax.TupleType([relax.TensorType((2,), "float32")])
x = relax.Var("x", ty.fields[0])
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    builder.emit_func_output(builder.match_cast(relax.Tuple([x]), ty))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    again = tvm.script.from_source(mod.script(show_meta=True))
    tvm.ir.assert_structural_equal(again, mod)
