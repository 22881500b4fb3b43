# negative of uint8: cannot make uint from negative value -1

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([2])
x = relax.Var("x", TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[T.int64(2)], span=None),
    "uint8",
))
gv = relax.Var("gv", R.Tensor((2,), "uint8"))
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.negative(x))])], gv),
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
