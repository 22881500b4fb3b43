# AllocateWorkspace: an external function with a workspace that is bound to a variable and passed on is refused

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import AllocateWorkspace
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = R.Tensor((2, 2), "float32")
ty_1 = FuncType([ty], R.Tensor((2, 2), "float32"))
f_gv = tvm.ir.GlobalVar("f")
x = relax.Var("x", ty_1)
f = relax.Function([x], relax.SeqExpr([], x), type_of(x))
set_type(f.body, type_of(x))

x_1 = relax.Var("x", ty)
g = relax.Function([x_1], relax.SeqExpr([], x_1), type_of(x_1), True, DictAttrs(
    {"Codegen": "cutlass", "WorkspaceSize": 64},
))
set_type(g.body, type_of(x_1))

g_gv = tvm.ir.GlobalVar("g")
gv = relax.Var("gv", type_of(g))
gv1 = relax.Var("gv1", ty_1)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, g_gv), bind(gv1, relax.Call(f_gv, [gv]))])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

mod = tvm.IRModule({f_gv: f, g_gv: g, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    AllocateWorkspace()(mod)
