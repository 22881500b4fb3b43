# DispatchSortScan: cumprod of the variable of an If that gets a new type

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R, tirx as T

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

n = relax.Var("n", PrimType("int64"))
shape = relax.ShapeExpr([n, 2])
gv = relax.Var("gv", TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[n, T.int64(2)], span=None),
    "float32",
))
ty = TensorType((n, 2), "float32")
gv2 = relax.Var("gv2", ty)
gv1 = relax.Var("gv1", ty)
gv3 = relax.Var("gv3", R.Tensor(((n * 2),), "float32"))
main = relax.Function(
    [n],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv, op("zeros", [shape], "InitAttrs", dtype=tvm.DataType("float32"))),
            bind(gv2, relax.If(
                tirx.GT(n, T.int64(2)),
                typed(
                    relax.SeqExpr(
                        [relax.BindingBlock([bind(gv1, relax.op.maximum(gv, gv))])],
                        gv1,
                    ),
                    type_of(gv1),
                ),
                typed(relax.SeqExpr([], gv), type_of(gv)),
            )),
            bind(gv3, op(
                "cumprod",
                [gv2],
                "ScanopAttrs",
                axis=None,
                dtype=None,
                exclusive=False,
            )),
        ])],
        gv3,
    ),
    TensorType(None, "float32", ndim=1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv3))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.analysis.well_formed(relax.backend.DispatchSortScan()(mod))
