# LegalizeOps: resize3d in the layout CDHNW: not enough values to unpack

import tvm
from tvm import relax, tirx, topi
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R, tirx as T

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

ty = TensorType((2, 2, 2, 2, 2), "float32")
ty_1 = TensorType((2, 2, 2, 2, 2), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty_1))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty_1)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op(
                "image.resize3d",
                [x, relax.ShapeExpr([2, 2, 2])],
                "Resize3DAttrs",
                roi=[
                    T.float32(0.0),
                    T.float32(0.0),
                    T.float32(0.0),
                    T.float32(0.0),
                    T.float32(0.0),
                    T.float32(0.0),
                ],
                layout="CDHNW",
                method="linear",
                coordinate_transformation_mode="half_pixel",
                rounding_method="",
                cubic_alpha=-0.75,
                cubic_exclude=0,
                extrapolation_value=0.0,
                out_dtype=None,
            ),
            R.Tensor((2, 2, 2, 2, 2), "float32"),
        ))])],
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
