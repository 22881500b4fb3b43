# FuseTIR: a Primitive function that calls no PrimFunc: an internal check on the name of the fused function, without a message

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FuseTIR
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2, 3), "float32")
func_gv = tvm.ir.GlobalVar("func")
x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
gv2 = relax.Var("gv2", ty)
fused_gv = typed(tvm.ir.GlobalVar("fused"), FuncType([ty], ty))
func = relax.Function(
    [x0],
    relax.SeqExpr([relax.DataflowBlock([bind(gv2, relax.Call(fused_gv, [x0]))])], gv2),
    type_of(gv2),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(gv2))

x0_1 = relax.Var("x0", ty)
fused = relax.Function(
    [x0_1],
    relax.SeqExpr([], x0_1),
    type_of(x0_1),
    True,
    DictAttrs({"Primitive": True}),
)
set_type(fused.body, type_of(x0_1))

mod = tvm.IRModule({func_gv: func, fused_gv: fused})
set_type(func_gv, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseTIR(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
