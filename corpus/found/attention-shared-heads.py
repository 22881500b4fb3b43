# attention whose keys and values have fewer heads computes wrong values

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2, 2, 4, 2), "float32"))
y = relax.Var("y", R.Tensor((2, 2, 2, 2), "float32"))
gv = relax.Var("gv", R.Tensor((2, 2, 4, 2), "float32"))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "nn.attention",
            [x, y, y],
            "AttentionAttrs",
            scale=None,
            causal_mask=None,
            window_size=None,
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
    args = [tvm.runtime.tensor(np.array([[[[ 2.,  1.], [ 0., -2.], [-1., -3.], [-3., -3.]], [[-2.,  2.], [ 1.,  3.], [ 0.,  1.], [ 3.,  2.]]], [[[ 1.,  0.], [ 0.,  3.], [-2.,  2.], [ 1., -3.]], [[-1.,  3.], [ 0., -3.], [ 2.,  2.], [ 2., -2.]]]], "float32")), tvm.runtime.tensor(np.array([[[[-3.,  3.], [-3.,  0.]], [[-3., -1.], [ 0., -1.]]], [[[-1., -3.], [-3., -3.]], [[-3.,  1.], [ 0.,  1.]]]], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([[[[-2.9999998e+00,  2.7767711e+00], [-2.9999998e+00, -9.8607463e-01], [-1.5000000e+00, -5.0000000e-01], [-2.9575019e+00, -1.4166038e-02]], [[-2.9999998e+00,  2.9860744e+00], [-3.0000002e+00,  2.9991744e+00], [-2.0092845e+00, -3.3023846e-01], [-2.1106062e-02, -9.9296463e-01]]], [[[-1.3911407e+00, -2.2177186e+00], [-2.9995873e+00,  9.9917424e-01], [-5.8671093e-01,  2.1771878e-01], [-2.9948411e+00, -2.9931216e+00]], [[-2.9998996e+00,  9.9979919e-01], [-1.0004129e+00, -2.9991744e+00], [-1.5059265e-04,  9.9979919e-01], [-2.4132891e+00, -2.2177188e+00]]]], "float32")
    np.testing.assert_allclose(actual, expected, rtol=0.001, atol=0.001, strict=True)
