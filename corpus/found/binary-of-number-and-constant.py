# A number plus a constant scalar: 'only support te.tensor or tuple/list/Array of te.tensor as function output'

from tvm import relax, tirx
from tvm.relax.transform import LegalizeOps

prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
one = prim_value(tirx.FloatImm("float32", 1.0))
builder = relax.BlockBuilder()
with builder.function("main", []):
    builder.emit_func_output(builder.emit(relax.op.add(one, relax.const(2.0, "float32"))))
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
