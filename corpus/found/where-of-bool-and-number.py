# LegalizeOps: where(z, bool, float32): x and y must have the same dtype

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((), "bool"))
y = relax.Var("y", R.Tensor((2, 2), "float32"))
z = relax.Var("z", R.Tensor((2, 2), "bool"))
gv = relax.Var("gv", R.Tensor((2, 2), "bool"))
main = relax.Function(
    [x, y, z],
    relax.SeqExpr([relax.BindingBlock([bind(gv, op("where", [z, x, y]))])], gv),
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
