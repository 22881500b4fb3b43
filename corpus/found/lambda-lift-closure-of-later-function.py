# LambdaLift: the call of a closure that a function returns becomes invoke_pure_closure only if this function is visited before

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LambdaLift
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2,), "float32")
x = relax.Var("x", R.Tensor((2,), "float32"))
x_1 = relax.Var("x", ty)
a = relax.Var("a", R.Tensor((2,), "float32"))
expr = relax.Function([a], relax.SeqExpr([], x_1), type_of(x_1))
set_type(expr.body, type_of(x_1))

gv = relax.Var("gv", type_of(expr))
f_gv = tvm.ir.GlobalVar("f")
gv1 = relax.Var("gv1", ty)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, relax.Call(f_gv, [x])), bind(gv1, relax.Call(gv, [x]))])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

gv_1 = relax.Var("gv", type_of(expr))
f = relax.Function(
    [x_1],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv_1, expr)])], gv_1),
    type_of(gv_1),
)
set_type(f.body, type_of(gv_1))

mod = tvm.IRModule({"main": main, f_gv: f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    twin = tvm.IRModule(dict(reversed(list(mod.functions.items()))))
    expected, actual = LambdaLift()(mod), LambdaLift()(twin)
    tvm.ir.assert_structural_equal(actual, expected, map_free_vars=True)
