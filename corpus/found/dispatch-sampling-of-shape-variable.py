# DispatchSampling: multinomial_from_uniform of a tensor whose shape is a variable: out_ty of call_tir should have defined ShapeExpr as shape

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R

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

x = relax.Var("x", R.Tensor((2, 2), "float32"))
y = relax.Var("y", ShapeType(ndim=2))
z = relax.Var("z", R.Tensor((2, 1), "float32"))
u = relax.Var("u", R.Tensor((2, 1), "int64"))
gv = relax.Var("gv", TensorType(y, "float32"))
gv1 = relax.Var("gv1", TensorType(None, "int64", ndim=2))
main = relax.Function(
    [x, y, z, u],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(gv, typed(op("reshape", [x, y]), TensorType(y, "float32"))),
            relax.VarBinding(gv1, typed(
                op(
                    "multinomial_from_uniform",
                    [gv, z, u],
                    "MultinomialFromUniformAttrs",
                    dtype="int64",
                ),
                TensorType(None, "int64", ndim=2),
            )),
        ])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSampling()(mod)
