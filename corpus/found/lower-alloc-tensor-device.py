# LowerAllocTensor: a tensor that is allocated on a virtual device has none after the pass, and does not fit the parameter of the function that it is passed to

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op
from tvm.relax.transform import LowerAllocTensor

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm
VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def dtype_value(dtype):
    if hasattr(relax, "DataTypeImm"):
        return relax.DataTypeImm(dtype)
    return tvm.ir.GenericConst(tvm.DataType(dtype), relax.AnyType())

vdevice = VDevice("llvm", 0, "global")
ty = TensorType((2,), "float32", vdevice=vdevice)

inner_gv = tvm.ir.GlobalVar("inner")
x = relax.Var("x", ty)
inner = relax.Function([x], relax.SeqExpr([], x), ty)
set_type(inner.body, ty)

a = relax.Var("a", ty)
b = relax.Var("b", ty)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(a, relax.Call(
                Op.get("relax.builtin.alloc_tensor"),
                [relax.ShapeExpr([2]), dtype_value("float32"), prim_value(0), StringImm("global")],
            )),
            bind(b, relax.Call(inner_gv, [a])),
        ])],
        b,
    ),
    ty,
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, ty)

mod = tvm.IRModule({inner_gv: inner, "main": main}, global_infos={"vdevice": [vdevice]})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    LowerAllocTensor()(mod)
