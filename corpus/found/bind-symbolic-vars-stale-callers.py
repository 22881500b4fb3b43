# BindSymbolicVars: a function loses a parameter whose variable is bound, and its callers still give it: 'Expected 1 arguments but got 2'

import tvm
from tvm import relax

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)

builder = relax.BlockBuilder()
m, n = relax.Var("m", PrimType("int64")), relax.Var("n", PrimType("int64"))
with builder.function("sizes", [m, n], private=True):
    sizes = builder.emit_func_output(builder.emit(relax.op.full(relax.ShapeExpr([m, n]), relax.const(1.0))))
rows, columns = tvm.tirx.Var("m", "int64"), tvm.tirx.Var("n", "int64")
x = relax.Var("x", TensorType((rows, columns), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.Call(sizes, [relax.prim_value(rows), relax.prim_value(columns)])))
mod = builder.get()

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        result = relax.transform.BindSymbolicVars({"n": 1})(mod)
    called = [
        binding.value
        for block in result["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value.op, tvm.ir.GlobalVar)
    ]
    (call,) = called
    params = result[call.op].params
    assert len(call.args) == len(params), f"{len(call.args)} arguments for {params}:\n{result}"
