# StaticPlanBlockMemory: one call node bound to two variables: '(!token_map_.count(call)) is false'

from tvm import relax
from tvm.relax.transform import StaticPlanBlockMemory

ty = relax.TensorType((2,), "float32")
builder = relax.BlockBuilder()
with builder.function("main", []):
    alloc = relax.op.builtin.alloc_tensor(relax.ShapeExpr([2]), "float32", 0)
    x, y = builder.emit(alloc), builder.emit(alloc)
    builder.emit_func_output(relax.Tuple([x, y]))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    StaticPlanBlockMemory()(mod)
