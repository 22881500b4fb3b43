# LegalizeOps: reshape to a shape that is a parameter raises an AssertionError

import tvm
from tvm import relax
from tvm.ir import Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", ShapeType([2, 1]))
y = relax.Var("y", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2, 1), "float32"))
f = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op("reshape", [y, x]),
            R.Tensor((2, 1), "float32"),
        ))])],
        gv,
    ),
    type_of(gv),
)
set_type(f.body, type_of(gv))

mod = tvm.IRModule({"f": f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    LegalizeOps()(mod)
