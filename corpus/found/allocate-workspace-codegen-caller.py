# AllocateWorkspace: a function for an external compiler that calls one with a workspace keeps a GlobalVar that is gone

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import AllocateWorkspace

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2, 2), "float32")
x = relax.Var("x", ty)
gv = relax.Var("gv", ty)
f_gv = tvm.ir.GlobalVar("f")
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.Call(f_gv, [x]))])], gv),
    type_of(gv),
    True,
    DictAttrs({"Codegen": "dnnl", "global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

x_1 = relax.Var("x", ty)
f = relax.Function([x_1], relax.SeqExpr([], x_1), type_of(x_1), True, DictAttrs(
    {"Composite": "dnnl.relu", "WorkspaceSize": 256},
))
set_type(f.body, type_of(x_1))

mod = tvm.IRModule({"main": main, f_gv: f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(AllocateWorkspace()(mod))
