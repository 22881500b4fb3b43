# Gradient: a parameter that is a number fails an internal check

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import Gradient
from tvm.script import relax as R

PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

ty = TensorType((), "float32")
x = relax.Var("x", R.Tensor((2, 2, 2), "float32"))
y = relax.Var("y", R.Tensor((2, 2), "float32"))
gv9 = relax.Var("gv9", PrimType("int64"))
z = relax.Var("z", ty)
gv = relax.Var("gv", ty)
expr = relax.Tuple([y, y, y, x, y, y, gv])
main = relax.Function(
    [x, y, gv9, z],
    relax.SeqExpr([relax.DataflowBlock([relax.VarBinding(gv, z)])], expr),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    Gradient('main', target_index=6)(mod)
