# LegalizeOps: the offset that inspect.tensor_elem_offset gives is uint64, and becomes int64

from tvm import relax
from tvm.ir import Op
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((2, 2), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    gv = builder.emit(relax.Call(Op.get("relax.inspect.tensor_elem_offset"), [x]))
    builder.emit_func_output(gv)
mod = builder.get()

if __name__ == "__main__":
    before, after = (each["main"].ret_ty for each in (mod, LegalizeOps()(mod)))
    assert before == after, f"main gives {before}, after LegalizeOps {after}"
