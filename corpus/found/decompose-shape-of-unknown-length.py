# DecomposeOpsForInference: tensor_to_shape of x: (n,) is taken for the shape of a scalar

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import DecomposeOpsForInference
from tvm.script import relax as R

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((n,), "int64"))
gv = relax.Var("gv", ShapeType(ndim=-1))
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, op("tensor_to_shape", [x]))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    built = relax.build(DecomposeOpsForInference(func_name="main")(mod), "llvm")
    machine = relax.VirtualMachine(built, tvm.cpu())
    shape = machine["main"](tvm.runtime.tensor(np.array([2, 3], "int64")))
    assert list(shape) == [2, 3], shape
