# AdjustMatmulOrder: a product of three matrices that is bound to a second variable, with orders of equal cost: the pass ends in a segmentation fault

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import AdjustMatmulOrder
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

ty = TensorType((3, 4), "float32")
x2 = relax.Var("x2", R.Tensor((3, 3), "float32"))
x3 = relax.Var("x3", R.Tensor((3, 4), "float32"))
x4 = relax.Var("x4", R.Tensor((4, 4), "float32"))
lv7 = relax.DataflowVar("lv7", R.Tensor((3, 4), "float32"))
lv8 = relax.DataflowVar("lv8", ty)
gv9 = relax.Var("gv9", ty)
main = relax.Function(
    [x2, x3, x4],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv7, op("matmul", [x2, x3], "MatmulAttrs", out_dtype=None)),
            bind(lv8, op("matmul", [lv7, x4], "MatmulAttrs", out_dtype=None)),
            relax.VarBinding(gv9, lv8),
        ])],
        gv9,
    ),
    type_of(gv9),
    False,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv9))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AdjustMatmulOrder(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
