# rms_norm with axes [2, 1] reads its weight transposed

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
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

ty = TensorType((2, 2, 2), "float32")
x = relax.Var("x", ty)
y = relax.Var("y", R.Tensor((2, 2), "float32"))
gv = relax.Var("gv", ty)
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "nn.rms_norm",
            [x, y],
            "RMSNormAttrs",
            axes=[2, 1],
            epsilon=1e-05,
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[[ 2.,  1.], [ 0., -2.]], [[-1., -3.], [-3., -3.]]], "float32")), tvm.runtime.tensor(np.array([[-2.,  2.], [ 1.,  3.]], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[[-2.6666608,  0.6666652], [ 0.       , -3.9999912]], [[ 0.7559284, -1.1338927], [-2.2677853, -3.401678 ]]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=0.001, atol=0.001, strict=True)
