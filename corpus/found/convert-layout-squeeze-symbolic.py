# ConvertLayout: squeeze without an axis, of a symbolic dimension: Cannot convert when exactly one of the layouts is unknown

import tvm
from tvm import relax, tirx
from tvm.ir import Op, make_node
from tvm.relax.transform import ConvertLayout
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

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((2, n, 2), "float32"))
gv = relax.Var("gv", TensorType(None, "float32", ndim=-1))
f = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op("squeeze", [x], "SqueezeAttrs", axis=None))])],
        gv,
    ),
    type_of(gv),
)
set_type(f.body, type_of(gv))

mod = tvm.IRModule({"f": f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI', 'NHWC']})(mod)
