# A number plus a tensor of rank 0: type inference gives rank 1, legalization rank 0

from tvm import relax, tirx
from tvm.relax.transform import LegalizeOps

prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
one = prim_value(tirx.FloatImm("float32", 1.0))
x = relax.Var("x", relax.TensorType((), "float32"))
y = relax.Var("y", relax.TensorType((1, 1), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x, y]):
    total = builder.emit(relax.op.add(one, x))  # of shape (1,)
    builder.emit_func_output(builder.emit(relax.op.concat([total, total], axis=0)))
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(LegalizeOps()(mod))
