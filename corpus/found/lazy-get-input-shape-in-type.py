# LazyGetInput: a weight that is a shape gets a second name in the type of what has this shape

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LazyGetInput
from tvm.script import relax as R

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2,), "float32")
x = relax.Var("x", ShapeType(ndim=3))
y = relax.Var("y", R.Tensor((), "float32"))
z = relax.Var("z", ty)
ty_1 = ShapeType([2, 2, 2])
gv = relax.Var("gv", ty_1)
gv1 = relax.Var("gv1", TensorType(x, "float32"))
expr = relax.Tuple([z, gv1])
main = relax.Function(
    [x, y, z],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.MatchCast(gv, x, ty_1),
            bind(gv1, op("broadcast_to", [y, x])),
        ])],
        expr,
    ),
    TupleType([ty, TensorType(None, "float32", ndim=3)]),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(LazyGetInput()(mod))
