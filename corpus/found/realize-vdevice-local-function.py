# RealizeVDevice: a local function that uses a tensor with a virtual device: its parameter gets the device, the argument of the call does not, and inferring the type of the call raises

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import RealizeVDevice

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
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
ty = TensorType((8,), "float32", vdevice=vdevice)
x3 = relax.Var("x3", TensorType((8,), "float32", vdevice=vdevice))
shape = relax.ShapeExpr([8])
ty_1 = TensorType(shape, "float32")
v31 = relax.Var("v31", ty)
z = relax.Var("z", ty_1)
v30 = relax.Var("v30", TensorType(shape, "float32"))
expr = relax.Function(
    [z],
    relax.SeqExpr(
        [relax.BindingBlock([bind(v30, relax.op.negative(z)), bind(v31, relax.op.add(v30, x3))])],
        v31,
    ),
    type_of(v31),
)
set_type(expr.body, type_of(v31))

v32 = relax.Var("v32", type_of(expr))
v33 = relax.Var("v33", ty)
main = relax.Function(
    [x3],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(v32, expr),
            bind(v33, relax.Call(v32, [constant(
                tvm.runtime.tensor(
                    np.array([-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0], "float32"),
                ),
                ty_1,
            )])),
        ])],
        v33,
    ),
    type_of(v33),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(v33))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        RealizeVDevice(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
