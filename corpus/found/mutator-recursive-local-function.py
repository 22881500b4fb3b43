# UpdateVDevice: Var gv1 is not defined.

import tvm
from tvm import relax
from tvm.relax.transform import UpdateVDevice

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

vdevice = VDevice(
    tvm.target.Target({"kind": "llvm", "keys": ["cpu"], "mtriple": "x86_64-conda-linux-gnu"}),
    0,
    "global",
)
ty = TensorType((), "float32", vdevice=vdevice)
ty_1 = TensorType((), "float32")
x = relax.Var("x", ty)
gv1 = relax.Var("gv1", FuncType([ty_1, ty], ty))
a = relax.Var("a", ty_1)
b = relax.Var("b", ty)
gv = relax.Var("gv", ty)
expr = relax.Function(
    [a, b],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.Call(gv1, [a, x]))])], gv),
    type_of(gv),
)
set_type(expr.body, type_of(gv))

f = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv1, expr)])], gv1),
    type_of(gv1),
)
set_type(f.body, type_of(gv1))

mod = tvm.IRModule({"f": f}, global_infos={"vdevice": [vdevice]})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    if not hasattr(relax, "VDevice"):  # before TVM 0.27
        relax.VDevice = tvm.ir.VDevice
    relax.analysis.well_formed(UpdateVDevice(relax.VDevice('llvm', 1, 'shared'), 0)(mod))
