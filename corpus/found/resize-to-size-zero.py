# resize2d to the size 0: Divide by zero

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R, tirx as T

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2, 2, 2, 2), "float32"))
gv = relax.Var("gv", R.Tensor((2, 2, 0, 2), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "image.resize2d",
            [x, relax.ShapeExpr([0, 2])],
            "Resize2DAttrs",
            roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)],
            layout="NCHW",
            method="linear",
            coordinate_transformation_mode="half_pixel",
            rounding_method="round",
            cubic_alpha=-0.75,
            cubic_exclude=0,
            extrapolation_value=0.0,
            out_dtype=None,
        ))])],
        gv,
    ),
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
