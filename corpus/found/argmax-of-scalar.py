# argmax of a scalar: Cannot reduce a 0 dim Tensor

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((), "float32")
shape = relax.ShapeExpr([])
ty_1 = TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[], span=None),
    "float32",
)
x = relax.Var("x", ty)
gv = relax.Var("gv", R.Tensor((), "int64"))
main = make_node(
    "relax.expr.Function",
    ty=FuncType([ty], ty_1),
    attrs=DictAttrs({"global_symbol": "main"}),
    params=[x],
    body=typed(
        relax.SeqExpr(
            [relax.BindingBlock([relax.VarBinding(gv, typed(
                op("argmax", [x], "ArgmaxArgminAttrs", axis=None, keepdims=False),
                R.Tensor((), "int64"),
            ))])],
            gv,
        ),
        ty_1,
    ),
    ret_ty=ty_1,
    is_pure=True,
    span=None,
)

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    LegalizeOps()(mod)
