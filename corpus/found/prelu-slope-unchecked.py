# LegalizeOps: prelu with a slope of rank 4, whose type is inferred, raises an AssertionError

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 2, 2, 2), "float32")
x = relax.Var("x", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op("nn.prelu", [x, x], "PReluAttrs", axis=1))])],
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
    LegalizeOps(skip_ops=['relax.abs', 'relax.add', 'relax.concat', 'relax.left_shift', 'relax.less', 'relax.matmul', 'relax.multiply', 'relax.nn.avg_pool2d', 'relax.permute_dims', 'relax.split', 'relax.sum', 'relax.variance'])(mod)
