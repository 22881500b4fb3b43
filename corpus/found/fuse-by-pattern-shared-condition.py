# FuseOpsByPattern: two functions with the same constant as a condition are refused

from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern

condition = relax.const(True, "bool")
builder = relax.BlockBuilder()
tensor = getattr(relax, "TensorStructInfo", relax.TensorType)
for name in ("f", "main"):
    x = relax.Var("x", tensor((2,), "float32"))
    with builder.function(name, [x]):
        branches = relax.SeqExpr([], x), relax.SeqExpr([], x)
        builder.emit_func_output(builder.emit(relax.If(condition, *branches)))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseOpsByPattern([("relu", is_op("relax.nn.relu")(wildcard()))])(mod)
