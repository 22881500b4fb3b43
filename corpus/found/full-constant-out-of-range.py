# full of the constant -3 as uint32: cannot make uint from negative value -3

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
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

shape = relax.ShapeExpr([2])
ty = TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[T.int64(2)], span=None),
    "uint32",
)
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([], ty))
gv = relax.Var("gv", ty)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "full",
            [shape, relax.const(-3, "int16")],
            "InitAttrs",
            dtype=tvm.DataType("uint32"),
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
