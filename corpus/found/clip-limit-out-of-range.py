# clip of uint8 to -1 and 2: cannot make uint from negative value -1

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps

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

ty = TensorType((2,), "uint8")
x = relax.Var("x", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op("clip", [x, prim_value(-1), prim_value(2)]))])],
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
