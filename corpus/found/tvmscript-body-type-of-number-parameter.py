# TVMScript: the type of the body loses a dimension that a parameter gives

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R, tirx as T

PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

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
f = relax.Function(
    [n],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "ones",
            [shape],
            "InitAttrs",
            dtype=tvm.DataType("float32"),
        ))])],
        gv,
    ),
    TensorType(None, "float32", ndim=2),
)
set_type(f.body, type_of(gv))

x = relax.Var("x", R.Tensor((2, 2, 2, 2), "float32"))
v0 = relax.Var("v0", PrimType("int64"))
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(v0, prim_value(2))])], x),
    type_of(x),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(x))

mod = tvm.IRModule({"f": f, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)
