# LegalizeOps: full of a constant that is infinite: argument of type 'PrimType' is not iterable

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

gv = relax.Var("gv", R.Tensor((2,), "float32"))
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "full",
            [relax.ShapeExpr([2]), relax.const(float("-inf"), "float32")],
            "InitAttrs",
            dtype=tvm.DataType("float32"),
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
