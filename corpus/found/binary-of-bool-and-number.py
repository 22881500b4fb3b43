# bool minus float32 has the type bool and becomes float32

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LegalizeOps

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

ty = TensorType((2,), "bool")
ty_1 = TensorType((2,), "float32")
ty_2 = TensorType((2,), "bool")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty, ty_1], ty_2))
x = relax.Var("x", ty)
y = relax.Var("y", ty_1)
gv = relax.Var("gv", ty_2)
main = relax.Function(
    [x, y],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.subtract(x, y))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    before, after = mod['main'], LegalizeOps()(mod)['main']
    known = relax.analysis.type_base_check(before.ret_ty, after.ret_ty)
    assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"
