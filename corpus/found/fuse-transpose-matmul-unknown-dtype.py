# FuseTransposeMatmul: y: (2, 2) of unknown dtype: Back optional access

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FuseTransposeMatmul
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

x = relax.Var("x", R.Tensor((2, 2), "float32"))
y = relax.Var("y", TensorType((2, 2), None))
lv = relax.DataflowVar("lv", R.Tensor((2, 2), "float32"))
gv = relax.Var("gv", TensorType((2, 2), None))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv, op("permute_dims", [x], "PermuteDimsAttrs", axes=None)),
            bind(gv, op("matmul", [y, lv], "MatmulAttrs", out_dtype=None)),
        ])],
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
    FuseTransposeMatmul()(mod)
