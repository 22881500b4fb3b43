# MergeCompositeFunctions: a call of an external function of the module: 'Cannot treat type `relax.expr.ExternFunc` as type `relax.expr.Function`'

from tvm import relax
from tvm.relax.transform import MergeCompositeFunctions

ty = relax.TensorType((2,), "float32")
builder = relax.BlockBuilder()
x = relax.Var("x", ty)
with builder.function("f", [x], {"Composite": "tensorrt.relu", "Primitive": True}, private=True):
    builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
f = builder.get().get_global_var("f")
outside = builder.add_func(relax.ExternFunc("vm.builtin.copy", relax.FuncType([ty], ty)), "outside")
y = relax.Var("y", ty)
with builder.function("main", [y]):
    z = builder.emit(relax.Call(f, [y]))
    builder.emit_func_output(builder.emit(relax.Call(outside, [z])))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    MergeCompositeFunctions()(mod)
