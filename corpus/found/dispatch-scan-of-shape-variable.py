# DispatchSortScan: cumsum of a tensor whose shape is a variable: object of type 'Var' has no len()

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 2), "float32")
ty_1 = ShapeType(ndim=2)
ty_2 = TensorType(None, "float32", ndim=2)
x = relax.Var("x", ty)
y = relax.Var("y", ty_1)
gv = relax.Var("gv", TensorType(y, "float32"))
gv1 = relax.Var("gv1", TensorType(y, "float32"))
main = make_node(
    "relax.expr.Function",
    ty=FuncType([ty, ty_1], ty_2),
    attrs=DictAttrs({"global_symbol": "main"}),
    params=[x, y],
    body=typed(
        relax.SeqExpr(
            [relax.BindingBlock([
                relax.VarBinding(gv, typed(op("reshape", [x, y]), TensorType(y, "float32"))),
                relax.VarBinding(gv1, typed(
                    op("cumsum", [gv], "ScanopAttrs", axis=0, dtype=None, exclusive=False),
                    TensorType(y, "float32"),
                )),
            ])],
            gv1,
        ),
        ty_2,
    ),
    ret_ty=ty_2,
    is_pure=True,
    span=None,
)

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)
