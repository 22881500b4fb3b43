# InlinePrivateFunctions: Var gv1 is not defined.

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import InlinePrivateFunctions

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((), "float32")
ty_1 = TensorType((), "float32")
ty_2 = TensorType((2,), "float32")
ty_3 = FuncType([ty_1, ty_2], ty_2)
f_gv = tvm.ir.GlobalVar("f")
x = relax.Var("x", ty)
gv1 = relax.Var("gv1", ty_3)
a = relax.Var("a", ty_1)
b = relax.Var("b", ty_2)
gv = relax.Var("gv", ty_2)
expr = relax.Function(
    [a, b],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.Call(gv1, [x, b]))])], gv),
    type_of(gv),
    True,
    DictAttrs({"relax.force_pure": True}),
)
set_type(expr.body, type_of(gv))

f = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv1, expr)])], gv1),
    type_of(gv1),
)
set_type(f.body, type_of(gv1))

x_1 = relax.Var("x", ty)
gv_1 = relax.Var("gv", ty_3)
main = relax.Function(
    [x_1],
    relax.SeqExpr([relax.BindingBlock([bind(gv_1, relax.Call(f_gv, [x_1]))])], gv_1),
    type_of(gv_1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv_1))

mod = tvm.IRModule({f_gv: f, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(InlinePrivateFunctions()(mod))
