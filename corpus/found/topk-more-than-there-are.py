# topk of 9 of 3 elements gives 9, six of which nobody wrote

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R

TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2,), "float32"))
gv = relax.Var("gv", TupleType([R.Tensor((2,), "float32"), R.Tensor((2,), "int64")]))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "topk",
            [x],
            "TopKAttrs",
            k=9,
            axis=-1,
            ret_type="both",
            largest=True,
            dtype=tvm.DataType("int64"),
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
    args = [tvm.runtime.tensor(np.array([2., 1.], "float32"))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = [value.numpy() for value in actual]
    expected = (np.array([2., 1.], "float32"), np.array([0, 1], "int64"), )
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-05, atol=4e-05, strict=True)
