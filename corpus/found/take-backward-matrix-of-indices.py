# LegalizeOps: take_backward with a matrix of indices: an AssertionError without a message

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

grad = relax.Var("grad", R.Tensor((2, 2, 3), "float32"))
x = relax.Var("x", R.Tensor((5, 3), "float32"))
indices = relax.Var("indices", R.Tensor((2, 2), "int64"))
gv = relax.Var("gv", R.Tensor((5, 3), "float32"))
attrs = make_node("relax.attrs.TakeAttrs", axis=0, mode="fast")
call = relax.Call(Op.get("relax.grad.take_backward"), [grad, x, indices], attrs)
main = relax.Function(
    [grad, x, indices],
    relax.SeqExpr([relax.BindingBlock([bind(gv, call)])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    LegalizeOps()(mod)
