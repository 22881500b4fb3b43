# instance_norm with channel_axis -1: Index -1 out of bounds

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 2, 2), "float32")
x = relax.Var("x", ty)
y = relax.Var("y", R.Tensor((2,), "float32"))
gv = relax.Var("gv", ty)
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "nn.instance_norm",
            [x, y, y],
            "InstanceNormAttrs",
            channel_axis=-1,
            axes=[1],
            epsilon=1e-05,
            center=True,
            scale=True,
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
