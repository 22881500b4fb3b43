# repeat of a scalar: Index out of range

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
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

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((), "float32")
ty_1 = TensorType((2,), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty_1))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty_1)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op("repeat", [x], "RepeatAttrs", repeats=2, axis=None))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    LegalizeOps()(mod)
