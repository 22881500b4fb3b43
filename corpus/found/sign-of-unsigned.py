# sign of uint8: cannot make uint from negative value -1

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([2])
ty = TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[T.int64(2)], span=None),
    "uint8",
)
ty_1 = TensorType((2,), "uint8")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty_1))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty_1)
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.sign(x))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    LegalizeOps()(mod)
