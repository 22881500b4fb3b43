# FastMathTransform: exp of the variable of an If that gets a new type: the kernel's call names the old variable, which nothing defines

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FastMathTransform
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
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

main_gv = typed(tvm.ir.GlobalVar("main"), FuncType(
    [PrimType("int64")],
    TensorType(None, "float32", ndim=2),
))
n = relax.Var("n", PrimType("int64"))
shape = relax.ShapeExpr([n, 2])
shape_1 = relax.ShapeExpr([n, 2])
gv = relax.Var("gv", TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape_1), values=[n, T.int64(2)], span=None),
    "float32",
))
gv2 = relax.Var("gv2", R.Tensor((n, 2), "float32"))
gv1 = relax.Var("gv1", R.Tensor((n, 2), "float32"))
gv3 = relax.Var("gv3", TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[n, T.int64(2)], span=None),
    "float32",
))
main = relax.Function(
    [n],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv, op(
                "zeros",
                [make_node(
                    "relax.expr.ShapeExpr",
                    ty=type_of(shape_1),
                    values=[n, T.int64(2)],
                    span=None,
                )],
                "InitAttrs",
                dtype=tvm.DataType("float32"),
            )),
            bind(gv2, relax.If(
                tirx.GT(n, T.int64(2)),
                typed(
                    relax.SeqExpr([relax.BindingBlock([bind(gv1, relax.op.negative(gv))])], gv1),
                    type_of(gv1),
                ),
                typed(relax.SeqExpr([], gv), type_of(gv)),
            )),
            bind(gv3, relax.op.exp(gv2)),
        ])],
        gv3,
    ),
    TensorType(None, "float32", ndim=2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv3))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    relax.analysis.well_formed(FastMathTransform()(mod))
