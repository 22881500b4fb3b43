# LegalizeOps: all_class_non_max_suppression with a score_threshold that is no scalar

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

shape = relax.ShapeExpr([8, 3])
shape_1 = relax.ShapeExpr([1])
ty = TupleType([
    TensorType(
        make_node(
            "relax.expr.ShapeExpr",
            ty=type_of(shape),
            values=[T.int64(8), T.int64(3)],
            span=None,
        ),
        "float32",
    ),
    TensorType(
        make_node("relax.expr.ShapeExpr", ty=type_of(shape_1), values=[T.int64(1)], span=None),
        "float32",
    ),
])
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([], ty))
gv = relax.Var("gv", TupleType([R.Tensor((8, 3), "int64"), R.Tensor((1,), "int64")]))
const = relax.const(np.full((2, 2, 2), 1.0, "float32"), "float32")
main = make_node(
    "relax.expr.Function",
    ty=FuncType([], ty),
    attrs=DictAttrs({"global_symbol": "main"}),
    params=[],
    body=typed(
        relax.SeqExpr(
            [relax.BindingBlock([relax.VarBinding(gv, typed(
                op(
                    "vision.all_class_non_max_suppression",
                    [
                        relax.const(np.full((2, 2, 2), 1.0, "float32"), "float32"),
                        const,
                        relax.const(1.0, "float32"),
                        relax.const(1.0, "float32"),
                        const,
                    ],
                    "AllClassNonMaximumSuppressionAttrs",
                    output_format="onnx",
                ),
                TupleType([R.Tensor((8, 3), "int64"), R.Tensor((1,), "int64")]),
            ))])],
            gv,
        ),
        ty,
    ),
    ret_ty=ty,
    is_pure=True,
    span=None,
)

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    LegalizeOps()(mod)
